// Package evict writes far more data into real processes than maxmemory allows.
//
// These rules must hold. used_memory stays below the limit, apart from commands that are on their
// way. The remaining keys are those that Redis would keep, which is measured by the hit ratio of
// the same trace on redis-server. Under volatile-* no key without an expiry is evicted. A write
// that is refused is refused before it enters the log. All nodes evict the same keys.
package evict
