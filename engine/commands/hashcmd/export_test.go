package hashcmd

// What tests reach of the package's inside.

var RunHGet = runHGet
