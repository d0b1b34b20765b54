package process

// Version is Lockstep's version.
const Version = "0.1.0"

// RedisVersion is the version of Redis whose behaviour Lockstep provides. It is shown in INFO and
// HELLO, where clients look for features.
const RedisVersion = "7.2.4"
