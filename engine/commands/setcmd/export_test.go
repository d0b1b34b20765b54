package setcmd

// Internals of the package that tests in other packages use.

var Picks = picks
var SetOf = setOf
