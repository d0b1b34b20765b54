// Package scripts runs scripts against clusters of real processes: hostile scripts that try to take
// the cluster down, and the examples of the manual under load.
package scripts
