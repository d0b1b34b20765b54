# Work for the Sidekiq worker beside it (work.rb), and what comes of it.
require "sidekiq/api"
require_relative "work"

def wait(what)
  until yield
    raise "not in time: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > DEADLINE
    sleep 0.02
  end
end
DEADLINE = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 90

# Jobs at once, many in one push, and one for later: the scheduler takes that one
# out of its sorted set by a script.
20.times { |i| Add.perform_async(i, 1) }
Sidekiq::Client.push_bulk("class" => Add, "args" => (20...40).map { |i| [i, 1] })
Add.perform_in(0.5, 100, 1)
Flaky.perform_async

wait("all sums") { Sidekiq.redis { |conn| conn.hlen("sums") } == 41 }
wait("the second try") { Sidekiq.redis { |conn| conn.get("tries") } == "2" }
wait("nothing is left") do
  Sidekiq::Queue.all.sum(&:size).zero? && Sidekiq::RetrySet.new.size.zero? && Sidekiq::ScheduledSet.new.size.zero?
end
twice = Sidekiq.redis { |conn| conn.hvals("sums") }.reject { |n| n == "1" }
raise "done more than once: #{twice}" unless twice.empty?
wait("the worker is known") { Sidekiq::ProcessSet.new.size == 1 }
puts "all is well"
