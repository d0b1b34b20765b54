package badinput

// templates are valid commands, one a line: the sweep makes invalid ones from them. A word that
// begins with $ is a key: $zset holds a sorted set, and $none does not exist. Every command of the
// table must be here or in notSwept; templateOf makes a template for a command that redis-server
// does not have.
var templates = []string{
	// Strings.
	"GET $string", "SET $string v", "SET $string v XX GET EX 1000", "SET $string v PXAT 9000000000000 NX", "GETEX $string PX 100000",
	"GETEX $string EXAT 9000000000", "GETDEL $string", "GETSET $string v", "SETNX $none v", "SETEX $string 1000 v",
	"PSETEX $string 100000 v", "MGET $string $none", "MSET $string v $none v", "MSETNX $none v $none2 v", "INCR $string", "DECR $string",
	"INCRBY $string 5", "DECRBY $string 5", "INCRBYFLOAT $string 1.5", "APPEND $string v", "STRLEN $string", "SETRANGE $string 3 v",
	"GETRANGE $string 0 -1", "SUBSTR $string 0 -1", "LCS $string $string2 IDX MINMATCHLEN 1 WITHMATCHLEN",
	// Bits.
	"SETBIT $string 100 1", "GETBIT $string 100", "BITCOUNT $string 0 -1 BIT", "BITPOS $string 1 0 -1 BYTE", "BITOP AND $none $string $string2",
	"BITOP NOT $none $string", "BITFIELD $string OVERFLOW SAT INCRBY i8 100 5 SET u16 #2 7 GET i64 0", "BITFIELD_RO $string GET u63 5",
	// HyperLogLogs.
	"PFADD $hll a b", "PFCOUNT $hll $none", "PFMERGE $none $hll", "PFDEBUG ENCODING $hll", "PFDEBUG GETREG $hll", "PFDEBUG TODENSE $hll",
	// Lists.
	"LPUSH $list a", "RPUSH $list a", "LPUSHX $list a", "RPUSHX $list a", "LINSERT $list BEFORE b x", "LLEN $list", "LINDEX $list 1",
	"LRANGE $list 0 -1", "LSET $list 1 x", "LTRIM $list 0 1", "LREM $list 1 b", "LPOS $list b RANK 1 COUNT 2 MAXLEN 5", "LPOP $list 2", "RPOP $list 2",
	"LMPOP 2 $none $list LEFT COUNT 2", "LMOVE $list $none LEFT RIGHT", "RPOPLPUSH $list $none", "BLPOP $none $list 0.1", "BRPOP $list 0.1",
	"BLMPOP 0.1 1 $list RIGHT COUNT 2", "BLMOVE $list $none LEFT RIGHT 0.1", "BRPOPLPUSH $list $none 0.1",
	// Hashes.
	"HSET $hash f v", "HSETNX $hash f v", "HMSET $hash f v", "HGET $hash f", "HMGET $hash f g", "HGETALL $hash", "HKEYS $hash", "HVALS $hash",
	"HLEN $hash", "HSTRLEN $hash f", "HEXISTS $hash f", "HDEL $hash f", "HINCRBY $hash n 5", "HINCRBYFLOAT $hash n 1.5",
	"HRANDFIELD $hash 2 WITHVALUES", "HSCAN $hash 0 MATCH * COUNT 10", "HEXPIRE $hash 1000 NX FIELDS 1 f", "HPEXPIRE $hash 100000 FIELDS 1 f",
	"HEXPIREAT $hash 9000000000 FIELDS 1 f", "HPEXPIREAT $hash 9000000000000 GT FIELDS 1 f", "HPERSIST $hash FIELDS 1 f", "HTTL $hash FIELDS 1 f",
	"HPTTL $hash FIELDS 1 f", "HEXPIRETIME $hash FIELDS 1 f", "HPEXPIRETIME $hash FIELDS 1 f", "HGETDEL $hash FIELDS 1 f",
	"HGETEX $hash EX 1000 FIELDS 1 f", "HSETEX $hash FNX PX 100000 FIELDS 1 f v",
	// Sets.
	"SADD $set 7", "SREM $set 1", "SCARD $set", "SISMEMBER $set 1", "SMISMEMBER $set 1 2", "SMEMBERS $set", "SMOVE $set $set2 1", "SPOP $set 2",
	"SRANDMEMBER $set 2", "SSCAN $set 0 MATCH * COUNT 10", "SINTER $set $set2", "SINTERCARD 2 $set $set2 LIMIT 1", "SINTERSTORE $none $set $set2",
	"SUNION $set $set2", "SUNIONSTORE $none $set $set2", "SDIFF $set $set2", "SDIFFSTORE $none $set $set2",
	// Sorted sets.
	"ZADD $zset XX GT CH 1 m", "ZADD $zset INCR 5 m", "ZINCRBY $zset 5 m", "ZREM $zset m", "ZREMRANGEBYRANK $zset 0 1", "ZREMRANGEBYSCORE $zset (0 1",
	"ZREMRANGEBYLEX $zset [a (z", "ZPOPMIN $zset 2", "ZPOPMAX $zset 2", "ZMPOP 2 $none $zset MIN COUNT 2", "BZPOPMIN $none $zset 0.1", "BZPOPMAX $zset 0.1",
	"BZMPOP 0.1 1 $zset MAX COUNT 2", "ZUNION 2 $zset $set WEIGHTS 1 2 AGGREGATE MAX WITHSCORES", "ZINTER 2 $zset $zset2 WEIGHTS 1 2 WITHSCORES",
	"ZDIFF 2 $zset $zset2 WITHSCORES", "ZINTERCARD 2 $zset $zset2 LIMIT 1", "ZUNIONSTORE $none 2 $zset $zset2 WEIGHTS 1 2 AGGREGATE SUM",
	"ZINTERSTORE $none 2 $zset $zset2 AGGREGATE MIN", "ZDIFFSTORE $none 2 $zset $zset2", "ZCARD $zset", "ZSCORE $zset m", "ZMSCORE $zset m n",
	"ZRANK $zset m", "ZREVRANK $zset m", "ZCOUNT $zset (0 +inf", "ZLEXCOUNT $zset - [z", "ZRANGE $zset 0 -1 REV WITHSCORES",
	"ZRANGE $zset (0 5 BYSCORE LIMIT 0 5", "ZRANGE $zset [a + BYLEX LIMIT 1 2", "ZRANGESTORE $none $zset 0 5 BYSCORE LIMIT 0 5",
	"ZRANGEBYSCORE $zset -inf 5 WITHSCORES LIMIT 0 5", "ZREVRANGEBYSCORE $zset 5 0 LIMIT 0 5", "ZRANGEBYLEX $zset - + LIMIT 0 5",
	"ZREVRANGEBYLEX $zset + - LIMIT 0 5", "ZREVRANGE $zset 0 -1 WITHSCORES", "ZRANDMEMBER $zset 2 WITHSCORES", "ZSCAN $zset 0 MATCH * COUNT 10",
	// Geo.
	"GEOADD $geo CH 13.5 38.1 m", "GEODIST $geo Palermo Catania km", "GEOHASH $geo Palermo", "GEOPOS $geo Palermo",
	"GEORADIUS $geo 15 37 200 km WITHDIST COUNT 2 ANY ASC", "GEORADIUS $geo 15 37 200 km STORE $none", "GEORADIUS_RO $geo 15 37 200 km WITHCOORD",
	"GEORADIUSBYMEMBER $geo Palermo 200 km STOREDIST $none", "GEORADIUSBYMEMBER_RO $geo Palermo 200 km WITHHASH",
	"GEOSEARCH $geo FROMLONLAT 15 37 BYBOX 400 400 km ASC COUNT 2 WITHDIST", "GEOSEARCH $geo FROMMEMBER Palermo BYRADIUS 200 km DESC",
	"GEOSEARCHSTORE $none $geo FROMMEMBER Palermo BYBOX 400 400 km STOREDIST",
	// Streams.
	"XADD $stream NOMKSTREAM MAXLEN ~ 100 LIMIT 10 9-1 f v", "XADD $stream MINID = 1-0 9-* f v", "XLEN $stream", "XRANGE $stream (1-0 + COUNT 2",
	"XREVRANGE $stream + 1-0 COUNT 2", "XDEL $stream 1-1", "XTRIM $stream MAXLEN = 1", "XTRIM $stream MINID ~ 1-1 LIMIT 1",
	"XREAD COUNT 2 BLOCK 1 STREAMS $stream $none 0 0", "XSETID $stream 9-9 ENTRIESADDED 9 MAXDELETEDID 1-1",
	"XREADGROUP GROUP g c COUNT 2 BLOCK 1 NOACK STREAMS $stream >", "XACK $stream g 1-1", "XPENDING $stream g IDLE 0 - + 5 c", "XPENDING $stream g",
	"XCLAIM $stream g c2 0 1-1 IDLE 5 RETRYCOUNT 3 FORCE JUSTID", "XCLAIM $stream g c2 0 1-1 TIME 5 LASTID 1-1", "XAUTOCLAIM $stream g c2 0 0 COUNT 5 JUSTID",
	"XINFO CONSUMERS $stream g", "XINFO GROUPS $stream", "XINFO STREAM $stream FULL COUNT 1", "XINFO STREAM $stream", "XINFO HELP",
	"XGROUP CREATE $stream g2 1-1 MKSTREAM ENTRIESREAD 1", "XGROUP SETID $stream g 1-1 ENTRIESREAD 1", "XGROUP DESTROY $stream g",
	"XGROUP CREATECONSUMER $stream g c9", "XGROUP DELCONSUMER $stream g c", "XGROUP HELP",
	// Keys of any kind.
	"DEL $string $list", "UNLINK $zset $set", "EXISTS $string $none", "TOUCH $string $none", "TYPE $stream", "RENAME $zset $none", "RENAMENX $zset $none",
	"COPY $zset $none DB 1 REPLACE", "MOVE $hash 1", "EXPIRE $string 1000 NX", "PEXPIRE $string 100000 XX", "EXPIREAT $string 9000000000 GT",
	"PEXPIREAT $string 9000000000000 LT", "TTL $string", "PTTL $string", "EXPIRETIME $string", "PEXPIRETIME $string", "PERSIST $string", "DUMP $none",
	"RESTORE $none 0 payload REPLACE ABSTTL IDLETIME 5", "RESTORE $none 0 payload FREQ 5", "SORT $list BY w* LIMIT 0 5 GET # ASC ALPHA STORE $none",
	"SORT $set BY nosort LIMIT 0 5", "SORT_RO $zset BY nosort LIMIT 0 5 GET # DESC", "OBJECT ENCODING $string", "OBJECT FREQ $string",
	"OBJECT IDLETIME $string", "OBJECT REFCOUNT $string", "MEMORY USAGE $zset SAMPLES 5",
	// The keyspace.
	"KEYS nosuch*", "SCAN 0 MATCH nosuch* COUNT 1000 TYPE string", "RANDOMKEY", "DBSIZE", "FLUSHDB ASYNC", "FLUSHALL SYNC", "SWAPDB 0 0", "SELECT 0",
	// Scripts and functions.
	"EVAL return(redis.call('get',KEYS[1])) 1 $string a", "EVAL_RO return(redis.call('get',KEYS[1])) 1 $string", "EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 $string",
	"EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 $string a", "SCRIPT LOAD return(1)", "SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "SCRIPT FLUSH SYNC",
	"SCRIPT KILL", "SCRIPT DEBUG NO", "SCRIPT SHOW e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "FCALL nosuch 1 $string a", "FCALL_RO nosuch 1 $string", "FUNCTION LOAD REPLACE return(1)",
	"FUNCTION DELETE nosuch", "FUNCTION FLUSH SYNC", "FUNCTION LIST LIBRARYNAME nosuch* WITHCODE", "FUNCTION DUMP", "FUNCTION RESTORE payload APPEND",
	"FUNCTION STATS", "FUNCTION KILL",
	// Users.
	"ACL SETUSER tried on >secret ~key:* %R~r:* +@read -get &channel (+@write ~w:*)", "ACL GETUSER nosuch", "ACL DELUSER nosuch", "ACL LIST",
	"ACL USERS", "ACL WHOAMI", "ACL CAT nosuch", "ACL DRYRUN default GET $string", "ACL GENPASS 32", "ACL LOG 0", "ACL LOAD", "ACL SAVE",
	// The server. Answers that describe the server are compared by kind.
	"PING hello", "ECHO hello", "TIME", "LOLWUT VERSION 5 10 10", "ROLE", "LASTSAVE", "WAIT 0 1", "WAITAOF 0 0 1", "INFO server", "COMMAND COUNT", "COMMAND DOCS get", "COMMAND INFO get",
	"COMMAND GETKEYS GET $string", "COMMAND GETKEYSANDFLAGS GET $string", "COMMAND LIST FILTERBY PATTERN nosuch*", "CONFIG GET maxmemory-samples",
	"CONFIG SET maxmemory-samples 5", "CONFIG RESETSTAT", "SLOWLOG GET 0", "SLOWLOG LEN", "SLOWLOG RESET", "LATENCY LATEST", "LATENCY HISTORY command",
	"LATENCY RESET command", "LATENCY HISTOGRAM nosuch", "LATENCY GRAPH command", "LATENCY DOCTOR", "MEMORY STATS", "MEMORY DOCTOR", "MEMORY PURGE", "MODULE LIST",
	"MEMORY MALLOC-STATS", "PUBLISH channel message", "SPUBLISH channel message", "PUBSUB CHANNELS nosuch*", "PUBSUB NUMPAT", "PUBSUB NUMSUB channel",
	"PUBSUB SHARDCHANNELS nosuch*", "PUBSUB SHARDNUMSUB channel", "WATCH $string $none", "UNWATCH", "AUTH default wrong", "READONLY", "READWRITE", "ASKING",
	"CLIENT ID", "CLIENT INFO", "CLIENT LIST TYPE normal", "CLIENT GETNAME", "CLIENT SETNAME name", "CLIENT SETINFO LIB-NAME name", "CLIENT GETREDIR",
	"CLIENT TRACKINGINFO", "CLIENT TRACKING OFF BCAST PREFIX a", "CLIENT CACHING YES", "CLIENT NO-EVICT OFF", "CLIENT NO-TOUCH OFF", "CLIENT UNBLOCK 99999999999 ERROR",
	"CLUSTER INFO", "CLUSTER KEYSLOT $string", "CLUSTER COUNTKEYSINSLOT 5", "CLUSTER GETKEYSINSLOT 5 5", "CLUSTER MYID", "CLUSTER NODES", "CLUSTER SHARDS",
	"CLUSTER SLOTS", "CLUSTER MYSHARDID", "CLUSTER LINKS", "CLUSTER SLAVES id", "CLUSTER REPLICAS id", "CLUSTER COUNT-FAILURE-REPORTS id",
	"CLUSTER ADDSLOTS 5", "CLUSTER ADDSLOTSRANGE 5 6", "CLUSTER DELSLOTS 5", "CLUSTER DELSLOTSRANGE 5 6", "CLUSTER FLUSHSLOTS", "CLUSTER SETSLOT 5 STABLE",
	"CLUSTER FAILOVER", "CLUSTER FORGET id", "CLUSTER REPLICATE id", "CLUSTER MEET 127.0.0.1 1", "CLUSTER RESET SOFT", "CLUSTER SAVECONFIG",
	"CLUSTER BUMPEPOCH", "CLUSTER SET-CONFIG-EPOCH 5", "LOCKSTEP STATUS", "LOCKSTEP SLOTS", "LOCKSTEP COMMANDS",
	"LOCKSTEP STALENESS 0", "LOCKSTEP TOKEN", "LOCKSTEP WAITFOR token 1", "RESTORE-ASKING $none 0 payload REPLACE",
}

// notSwept are the commands without a template, with the reason. Wrong numbers of arguments are
// tried for them all the same.
var notSwept = map[string]string{
	"hello": "it changes the protocol", "reset": "it changes the protocol", "quit": "it ends the connection", "shutdown": "it ends the server",
	"multi": "it queues what comes behind it", "exec": "as MULTI", "discard": "as MULTI", "monitor": "it takes the connection over",
	"subscribe": "it takes the connection over", "psubscribe": "as SUBSCRIBE", "ssubscribe": "as SUBSCRIBE",
	"unsubscribe": "as SUBSCRIBE", "punsubscribe": "as SUBSCRIBE", "sunsubscribe": "as SUBSCRIBE",
	"client|reply": "it takes the replies away", "client|kill": "it ends connections", "client|pause": "it stops all clients", "client|unpause": "as CLIENT PAUSE",
	"debug": "it is for developers, and off by default", "save": "it takes a snapshot each time", "bgsave": "as SAVE", "config|rewrite": "it writes a file; there is none",
	"pfselftest": "it takes a second", "lockstep|transfer": "the operator's", "lockstep|remove": "the operator's", "lockstep|leave": "the operator's",
	"lockstep|replicas": "the operator's", "lockstep|upgrade": "the operator's", "lockstep|placement": "the operator's", "lockstep|examine": "the operator's", "lockstep|replace": "the operator's", "lockstep|promote": "the operator's", "lockstep|drain": "the operator's", "lockstep|clock": "the operator's",
	"lockstep|snapshot": "the operator's", "lockstep|backup": "the operator's", "lockstep|support": "the operator's", "lockstep|secret": "the operator's",
	"module|load": "it is refused, in our own words", "module|loadex": "as MODULE LOAD", "module|unload": "as MODULE LOAD",
	"migrate": "it asks other servers, and waits for them", "sync": "it takes the connection over", "psync": "as SYNC", "replconf": "it speaks of a copy that SYNC begins",
}

// sweepState makes the keys that templates name.
var sweepState = [][]string{
	{"FLUSHALL"},
	{"SET", "string", "10"}, {"SET", "string2", "ten 10"}, {"RPUSH", "list", "a", "b", "c"}, {"HSET", "hash", "f", "v", "n", "10"},
	{"SADD", "set", "1", "2", "3"}, {"SADD", "set2", "1", "x"}, {"ZADD", "zset", "1", "m", "2", "n", "3", "o"}, {"ZADD", "zset2", "5", "m"},
	{"GEOADD", "geo", "13.361389", "38.115556", "Palermo", "15.087269", "37.502669", "Catania"}, {"PFADD", "hll", "a", "b"},
	{"XADD", "stream", "1-1", "f", "v"}, {"XADD", "stream", "2-1", "f", "v"}, {"XGROUP", "CREATE", "stream", "g", "0"},
	{"XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "stream", ">"},
}

// sweepKeys are keys of all types, and one that does not exist.
var sweepKeys = []string{"string", "list", "hash", "set", "zset", "stream", "hll", "none"}
