// Package page is the web page of the admin port. It shows the state of the cluster, the leaders,
// rates and times, the waits for locks, and past changes of leaders.
//
// Every node keeps the samples of the last quarter of an hour, one per second (History), and the
// last changes of leaders (Changes). The page of any node shows the whole cluster: it asks a Source
// for a State and for the Series of all nodes. The Source asks every node for its report (NodeReport) and
// combines the reports (Compose). A node that does not answer is shown as such.
//
// The page shows no values, no keys, no arguments and no passwords; of commands it shows only the
// names. The page only reads: it accepts no method but GET and HEAD, and has no control that
// changes anything. It loads nothing from other servers: its parts are in the program, and the
// headers tell browsers to load nothing else and to let no other page frame it.
//
// Everything is bounded: the samples and changes that are kept, the rows of a State, and the
// requests under way. However many visitors look at the page, the nodes are asked at most once a
// second.
package page
