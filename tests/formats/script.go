package formats

// writes are the commands that fill a folder. The first part ends in a snapshot, and the second
// part stays in the log. Nothing that they leave depends on the time.
var writes = [2][]string{{
	"SET text hello",
	"SET number 41",
	"INCR number",
	"APPEND text :world",
	"SET forever 1 PXAT 4102444800000",
	"SETBIT bits 100 1",
	"RPUSH list a b c",
	"LPUSH list zero",
	"HSET hash field value other 7",
	"HINCRBY hash other 3",
	"HPEXPIREAT hash 4102444800000 FIELDS 1 field",
	"SADD numbers 3 1 2",
	"SADD words one two three",
	"ZADD scores 1.5 low 2.5 high",
	"XADD stream 1-1 temperature 20",
	"XADD stream 1-2 temperature 21",
	"XGROUP CREATE stream readers 0",
	"XREADGROUP GROUP readers ann COUNT 1 STREAMS stream >",
	"PFADD visits ann bob carl",
	"GEOADD places 13.361389 38.115556 Palermo",
	"SET {u1}:a 1",
	"SET {u2}:b 2",
}, {
	"SET after snapshot",
	"DEL {u1}:a",
	"RPOP list",
	"HDEL hash other",
	"ZINCRBY scores 10 low",
	"XADD stream 2-1 temperature 22",
	"XACK stream readers 1-1",
	"INCRBY number 100",
	"SREM words two",
	// The second call adds an entry without the text of the script.
	evalCounted, evalCounted,
	// The entry of the last call has the rules of its user.
	"ACL SETUSER ann on >pw ~* +@all -debug", "AUTH ann pw", evalCounted,
}}

// evalCounted is an EVAL whose script has no space, and is long enough that the log leaves its text
// out.
const evalCounted = "EVAL return{redis.call('incr',KEYS[1]),'a_text_that_is_long_enough_not_to_travel_with_each_call'} 1 counted"

// reads are the commands that read a folder.
var reads = []string{
	"DBSIZE",
	"GET text", "GET number", "GET forever", "PEXPIRETIME forever", "GETBIT bits 100", "STRLEN bits",
	"LRANGE list 0 -1",
	"HGET hash field", "HLEN hash", "HPEXPIRETIME hash FIELDS 1 field",
	"SCARD numbers", "SISMEMBER numbers 2", "SMISMEMBER words one two three",
	"ZRANGE scores 0 -1 WITHSCORES",
	"XRANGE stream - +", "XPENDING stream readers", "XLEN stream",
	"PFCOUNT visits",
	"GEOHASH places Palermo",
	"GET {u1}:a", "GET {u2}:b", "GET after",
	"TYPE list", "TYPE hash", "TYPE numbers", "TYPE scores", "TYPE stream",
	"OBJECT ENCODING numbers",
	"GET counted", "SCRIPT EXISTS c0d4c5505244a249e299d104b9bd25a7aa7bcc62",
}
