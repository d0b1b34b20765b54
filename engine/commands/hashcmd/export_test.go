package hashcmd

// Internals of the package that tests in other packages use.

var RunHGet = runHGet
