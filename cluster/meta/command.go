package meta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Command is a change of the cluster's state, one of the exported types with an
// apply method below.
type Command interface {
	// apply changes v, which belongs to it and has the command's own index, or refuses and must then not have
	// changed anything. It tells whether there was anything to change.
	apply(v *View) (changed bool, err error)
}

// CreateCluster is the first command of a cluster's life, proposed by the node
// that was told to bootstrap it.
type CreateCluster struct {
	ClusterID string   `json:"cluster_id"`
	Creation  Creation `json:"creation"`
	Founder   Node     `json:"founder"`
	// ClusterVersion is the newest that the founder knows.
	ClusterVersion int `json:"cluster_version"`
}

// AddNode makes a node known, as joining.
type AddNode struct {
	Node Node `json:"node"`
	// Replace: a live node of the same name leaves, in favour of this one.
	Replace bool `json:"replace,omitempty"`
}

// UpdateNode says where a node is now and what it runs.
type UpdateNode struct {
	ID         NodeID `json:"id"`
	PeerAddr   string `json:"peer_addr"`
	ClientAddr string `json:"client_addr"`
	Hostname   string `json:"hostname,omitempty"`
	AdminAddr  string `json:"admin_addr,omitempty"`
	TLSPort    int    `json:"tls_port,omitempty"`
	Version    string `json:"version,omitempty"`
}

// MarkMember notes that a joining node has become a member of the meta group
// that has caught up.
type MarkMember struct {
	ID NodeID `json:"id"`
}

// RemoveNode lets a node leave. It keeps its replicas until each group's
// leader has taken them away.
type RemoveNode struct {
	ID    NodeID `json:"id"`
	Force bool   `json:"force,omitempty"`
	// InFavourOf names the node that takes its place, if one does: it becomes a
	// voter before this one goes.
	InFavourOf NodeID `json:"in_favour_of,omitempty"`
}

// Detach notes that a group has let go of a leaving node; after the last one
// the node is removed.
type Detach struct {
	ID    NodeID `json:"id"`
	Group uint32 `json:"group"`
}

// SetSettings changes cluster-wide settings, all or none.
type SetSettings struct {
	Set   map[string]string `json:"set,omitempty"`
	Unset []string          `json:"unset,omitempty"`
}

// kinds is the wire name of every command, and how to begin reading one.
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

// frame is a command as it is written down. ID and Seen come from its order
// (courier.Order) and are the same in all its copies; 0 until it is proposed.
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

// decodeCommand reads a command from the log. An unknown kind or field was
// written by a newer version.
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

// VerifyCommand reports whether data is a whole command, for checks of the log.
func VerifyCommand(data []byte) error {
	_, err := unseal(commandMagic, data)
	if errors.Is(err, ErrVersion) {
		return nil // whole, though not ours to read
	}
	return err
}

// strictJSON reads JSON whose checksum was right: what does not fit was
// written by a version with other fields.
func strictJSON(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w (%v)", ErrVersion, err)
	}
	return nil
}
