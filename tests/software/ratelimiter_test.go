package software

import "testing"

func rateLimiter(t *testing.T, addr string) { node(t, "rate_limiter.js", addr) }

// The limiter of a window that is exact under load is a script.
func rateLimiterScripts(t *testing.T, addr string) { node(t, "rate_limiter.js", addr, "--scripts") }
