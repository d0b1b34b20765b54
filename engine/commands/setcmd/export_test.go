package setcmd

// What tests reach of the package's inside.

var Picks = picks
var SetOf = setOf
