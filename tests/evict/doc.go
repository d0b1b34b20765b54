// Package evict writes far more into real processes than maxmemory allows.
//
// What must hold: used_memory stays below the limit but for what is on its way;
// the keys that stay are those Redis would keep, measured by the hit ratio of
// the same trace on redis-server; keys without an expiry are safe under
// volatile-*; what is refused is refused before it enters the log; and all nodes
// evict the same keys.
package evict
