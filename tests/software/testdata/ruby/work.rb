# What the Sidekiq worker runs, and what gives it work (use_sidekiq.rb) knows.
require "sidekiq"

# What is late on a busy machine is not to be sent twice.
server = { url: ENV.fetch("REDIS_SERVER"), network_timeout: 60, pool_timeout: 60 }
Sidekiq.configure_client { |config| config.redis = server }
Sidekiq.configure_server do |config|
  config.redis = server
  # How often the scheduler looks, in seconds; it waits ten before it begins if
  # this is not set.
  config.options[:poll_interval_average] = 0.5
end

class Add
  include Sidekiq::Worker
  sidekiq_options queue: "sums"

  def perform(a, b)
    Sidekiq.redis { |conn| conn.hincrby("sums", a + b, 1) }
  end
end

class Flaky
  include Sidekiq::Worker
  sidekiq_retry_in { 0 }

  def perform
    tries = Sidekiq.redis { |conn| conn.incr("tries") }
    raise "not yet" if tries < 2
  end
end
