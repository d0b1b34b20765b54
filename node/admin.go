package node

import (
	"context"
	"net"
	"net/http"

	"lockstep/node/adminport"
)

// openAdmin opens the HTTP port if one is set. It opens before the node is ready, so that a probe
// can distinguish a node that is starting from one that is dead.
func (n *Node) openAdmin(context.Context) error {
	s := n.Config.Current()
	if s.AdminPort == 0 {
		return nil
	}
	n.admin = adminport.New(adminport.Facts{
		Config: n.Config, Log: n.Log, Panics: n.panics.Admin, NoPassword: n.secrets.NoPassword, Health: n.health, Page: n.survey.Page(),
		Metrics: func(w http.ResponseWriter, r *http.Request) {
			if !n.Ready.Load() {
				http.Error(w, "starting", http.StatusServiceUnavailable)
				return
			}
			n.report.ServeMetrics(w, r)
		},
	})
	for _, addr := range listenAddresses(s.Bind, s.AdminPort) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return inWords(err, "admin-port", s.AdminPort)
		}
		// This does not run in the background group, which ends with the node: the port may outlive
		// the rest (Retire).
		n.admin.Serve(secureAdmin(n.tls, s, l))
	}
	return nil
}
