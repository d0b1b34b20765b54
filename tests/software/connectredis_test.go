package software

import "testing"

func connectRedis(t *testing.T, addr string) { node(t, "sessions.js", addr) }
