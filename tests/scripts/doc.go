// Package scripts is what scripts do to a cluster of real processes: hostile
// ones that try to take it down, and the examples of the manual under load.
package scripts
