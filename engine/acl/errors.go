package acl

import "errors"

// Reasons why a rule is refused, in Redis's words.
var (
	ErrSyntax        = errors.New("Syntax error")
	ErrUnknown       = errors.New("Unknown command or category name in ACL")
	ErrAfterAllKeys  = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	ErrAfterChannels = errors.New("Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")
	ErrNoPassword    = errors.New("The password you are trying to remove from the user does not exist")
	ErrHash          = errors.New("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	ErrFirstArg      = errors.New("Allowing first-arg of a subcommand is not supported")
)

// ErrTooLong refuses rules beyond RulesBytesMax. Redis has no such limit.
var ErrTooLong = errors.New("the rules of the user would be longer than 32768 bytes")

// RulesBytesMax bounds the rules of one user, as text.
const RulesBytesMax = 32 << 10
