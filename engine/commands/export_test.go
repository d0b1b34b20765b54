package commands

// What tests reach of the package's inside.

var Missing = missing
var Partly = partly
