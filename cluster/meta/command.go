package meta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Command is a change of the cluster's state. Each command is an exported type with an apply
// method.
type Command interface {
	// apply changes v, a copy of the view that already has the command's own index. If it refuses,
	// it must leave v unchanged. changed reports whether there was anything to change.
	apply(v *View) (changed bool, err error)
}

// CreateCluster is the first command of a cluster. The node that was told to bootstrap the cluster
// proposes it.
type CreateCluster struct {
	ClusterID string   `json:"cluster_id"`
	Creation  Creation `json:"creation"`
	Founder   Node     `json:"founder"`
	// ClusterVersion is the newest version that the founder's program knows.
	ClusterVersion int `json:"cluster_version"`
}

// AddNode adds a node in state Joining.
type AddNode struct {
	Node Node `json:"node"`
	// Replace makes a live node of the same name leave in favour of this one.
	Replace bool `json:"replace,omitempty"`
}

// UpdateNode records a node's current addresses and program version.
type UpdateNode struct {
	ID         NodeID `json:"id"`
	PeerAddr   string `json:"peer_addr"`
	ClientAddr string `json:"client_addr"`
	Hostname   string `json:"hostname,omitempty"`
	AdminAddr  string `json:"admin_addr,omitempty"`
	TLSPort    int    `json:"tls_port,omitempty"`
	Version    string `json:"version,omitempty"`
}

// MarkMember records that a joining node belongs to the meta group and has caught up with it.
type MarkMember struct {
	ID NodeID `json:"id"`
}

// RemoveNode makes a node leave. The node keeps its replicas until the leader of each group has
// removed them.
type RemoveNode struct {
	ID    NodeID `json:"id"`
	Force bool   `json:"force,omitempty"`
	// InFavourOf names the node that takes the leaving node's place, if there is one. That node
	// becomes a voter before the old one goes.
	InFavourOf NodeID `json:"in_favour_of,omitempty"`
}

// Detach records that a group has removed a leaving node. After the last group the node is removed.
type Detach struct {
	ID    NodeID `json:"id"`
	Group uint32 `json:"group"`
}

// SetSettings changes cluster-wide settings, all or none.
type SetSettings struct {
	Set   map[string]string `json:"set,omitempty"`
	Unset []string          `json:"unset,omitempty"`
}

// kinds holds the name of every command in the log, and how to make an empty one to read into.
var kinds = []struct {
	name string
	make func() Command
}{
	{"create-cluster", func() Command { return new(CreateCluster) }},
	{"add-node", func() Command { return new(AddNode) }},
	{"update-node", func() Command { return new(UpdateNode) }},
	{"mark-member", func() Command { return new(MarkMember) }},
	{"remove-node", func() Command { return new(RemoveNode) }},
	{"detach", func() Command { return new(Detach) }},
	{"set-settings", func() Command { return new(SetSettings) }},
	{"raise-version", func() Command { return new(RaiseVersion) }},
	{"promote-node", func() Command { return new(PromoteNode) }},
	{"set-replicas", func() Command { return new(SetReplicas) }},
	{"place-replica", func() Command { return new(PlaceReplica) }},
	{"let-go", func() Command { return new(LetGo) }},
	{"dropped", func() Command { return new(Dropped) }},
	{"mark-drained", func() Command { return new(MarkDrained) }},
	{"change-users", func() Command { return new(ChangeUsers) }},
}

// MaxCommandBytes bounds one command in the log.
const MaxCommandBytes = 256 << 10

// frame is a command as it is written to the log. ID and Seen come from the order of its proposer
// (leaderrpc.Order) and are the same in all copies. Both are 0 until the command is proposed.
type frame struct {
	ID   uint64          `json:"id"`
	Seen uint64          `json:"seen,omitempty"`
	Kind string          `json:"kind"`
	Args json.RawMessage `json:"args"`
}

func newFrame(c Command) (frame, error) {
	args, err := json.Marshal(c)
	if err != nil {
		return frame{}, err
	}
	kind, err := kindOf(c)
	return frame{Kind: kind, Args: args}, err
}

// encode writes a command for the log.
func (f frame) encode() ([]byte, error) {
	body, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	if len(body) > MaxCommandBytes {
		return nil, ErrTooMany.With(fmt.Sprintf("a command of %d bytes is longer than the meta group takes (%d)", len(body), MaxCommandBytes))
	}
	return seal(commandMagic, body), nil
}

func kindOf(c Command) (string, error) {
	want := fmt.Sprintf("%T", c)
	for _, k := range kinds {
		if fmt.Sprintf("%T", k.make()) == want {
			return k.name, nil
		}
	}
	return "", fmt.Errorf("meta: %T is no command; a pointer to one is", c)
}

// decodeCommand reads a command from the log. A newer version wrote it if its kind or a field is
// unknown.
func decodeCommand(data []byte) (f frame, c Command, err error) {
	body, err := unseal(commandMagic, data)
	if err != nil {
		return f, nil, err
	}
	if err := strictJSON(body, &f); err != nil {
		return f, nil, err
	}
	c, err = f.command()
	return f, c, err
}

func (f frame) command() (Command, error) {
	for _, k := range kinds {
		if k.name == f.Kind {
			c := k.make()
			return c, strictJSON(f.Args, c)
		}
	}
	return nil, fmt.Errorf("%w (command %q)", ErrVersion, f.Kind)
}

// VerifyCommand checks that data is a whole, undamaged command. Programs that check the log call
// it.
func VerifyCommand(data []byte) error {
	_, err := unseal(commandMagic, data)
	if errors.Is(err, ErrVersion) {
		return nil // The command is whole, but a newer version wrote it.
	}
	return err
}

// strictJSON reads JSON whose checksum was right. If a field is unknown, a newer version wrote the
// JSON.
func strictJSON(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w (%v)", ErrVersion, err)
	}
	return nil
}
