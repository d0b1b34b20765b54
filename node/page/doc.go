// Package page is the web page of the admin port, for people who would rather
// look than read: how the cluster is, who leads what, how much is done and how
// long it takes, what waits for what, and who led before.
//
// Every node keeps a quarter of an hour of samples, one a second (History), and
// the last changes of leaders (Changes). The page of any node shows the whole
// cluster: it asks a Source for a State and for the Series of all nodes, which
// has every node told (Told) and puts that together (Compose). A node that does
// not answer is shown as one that does not.
//
// What is shown has no values, no keys, no arguments and no passwords: commands
// are told by their names alone. The page only reads: there is no method but GET
// and HEAD, and nothing to press that changes anything. It needs nothing from
// elsewhere: its parts are in the program, and browsers are told to load
// nothing else and to let no other page frame it.
//
// Everything has a bound: the samples and changes that are kept, the rows of a
// State, the requests that are under way. However many people look, the nodes are
// asked at most once a second.
package page
