package software

import "testing"

func rateLimiter(t *testing.T, addr string) { node(t, "rate_limiter.js", addr) }

// rateLimiterScripts runs the limiter whose window is exact under load. It uses a script.
func rateLimiterScripts(t *testing.T, addr string) { node(t, "rate_limiter.js", addr, "--scripts") }
