package meta

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"lockstep/cluster/meta/leaderrpc"
)

// sharedLog is one log for all nodes of a test; entries are applied at once.
type sharedLog struct {
	mu       sync.Mutex
	index    uint64
	machines map[string]*Machine
	leader   string
	// loseNext is how many of the next commits succeed but are reported as failed.
	loseNext int
	// before holds entries that are committed; they are applied together with the next one.
	before [][]byte
}

func (l *sharedLog) leads() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leader
}

type sharedLogOf struct {
	log  *sharedLog
	node string
}

func (s sharedLogOf) IsLeader() bool { return s.log.leads() == s.node }

func (s sharedLogOf) Append(_ context.Context, data []byte) error {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	for _, entry := range append(s.log.before, data) {
		s.log.index++
		for _, m := range s.log.machines {
			if err := m.Apply(s.log.index, entry); err != nil {
				return err
			}
		}
	}
	s.log.before = nil
	if s.log.loseNext > 0 {
		s.log.loseNext--
		return errors.New("leadership lost while committing")
	}
	return nil
}

// wire delivers requests between the leaderrpc clients of one process.
type wire map[string]*leaderrpc.Client

func (w wire) Call(ctx context.Context, addr string, _ uint8, payload []byte) ([]byte, error) {
	got := make(chan []byte, 1)
	w[addr].Serve(payload, func(b []byte) { got <- b })
	select {
	case b := <-got:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func clients(t *testing.T, names ...string) (*sharedLog, map[string]*Client) {
	log, w, all := &sharedLog{machines: map[string]*Machine{}, leader: names[0]}, wire{}, map[string]*Client{}
	for _, name := range names {
		c := leaderrpc.New(leaderrpc.Config{
			Caller: w,
			Leader: func(uint32) (string, bool) { return log.leads(), log.leads() == name },
			Peers:  func() []string { return nil },
		})
		t.Cleanup(c.Close)
		w[name] = c
		log.machines[name] = NewMachine()
		all[name] = NewClient(log.machines[name], sharedLogOf{log, name}, c, nil)
	}
	return log, all
}

func TestAnyNodeCanHaveACommandCarriedOut(t *testing.T) {
	_, all := clients(t, "a", "b")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	create := &CreateCluster{ClusterID: "c1", Creation: testCreation(1), Founder: testNode("n1", 1, 7000)}
	r, err := all["b"].Do(ctx, create)
	if err != nil || !r.Changed {
		t.Fatal(r, err)
	}
	if v := all["b"].View(); v.Index < r.Index || v.ClusterID != "c1" {
		t.Fatalf("own command not seen: %+v", v)
	}
	if _, err := all["b"].Do(ctx, &CreateCluster{ClusterID: "c2"}); !errors.Is(err, ErrOtherCluster) {
		t.Fatal(err)
	}
}

func TestALostAnswerDoesNotDoTheWorkTwice(t *testing.T) {
	log, all := clients(t, "a", "b")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := all["a"].Do(ctx, &CreateCluster{ClusterID: "c1", Creation: testCreation(1), Founder: testNode("n1", 1, 7000)}); err != nil {
		t.Fatal(err)
	}
	log.mu.Lock()
	log.loseNext = 2
	log.mu.Unlock()
	if _, err := all["b"].Do(ctx, &AddNode{Node: testNode("n2", 2, 7000)}); err != nil {
		t.Fatal(err)
	}
	if v := all["a"].View(); len(v.Nodes) != 2 || v.Epoch != 2 {
		t.Fatalf("%d nodes at epoch %d", len(v.Nodes), v.Epoch)
	}
}

// A new leader may not have applied all committed entries yet. It must not refuse a command because
// of the version that the cluster had before.
func TestALeaderOfThePastRefusesNothing(t *testing.T) {
	as(t, 2, map[string]int{"change-users": 2})
	log, all := clients(t, "a")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := all["a"].Do(ctx, &CreateCluster{ClusterID: "c1", ClusterVersion: 1, Creation: testCreation(1), Founder: testNode("n1", 1, 7000)}); err != nil {
		t.Fatal(err)
	}
	set := &ChangeUsers{Set: []UserRules{{Name: "u", Rules: "on"}}}
	if _, err := all["a"].Do(ctx, set); !errors.Is(err, ErrClusterVersion) {
		t.Fatalf("before the version is raised: %v", err)
	}
	raise, err := newFrame(&RaiseVersion{To: 2})
	if err != nil {
		t.Fatal(err)
	}
	data, err := raise.encode()
	if err != nil {
		t.Fatal(err)
	}
	log.mu.Lock()
	log.before = [][]byte{data}
	log.mu.Unlock()
	if _, err := all["a"].Do(ctx, set); err != nil {
		t.Fatal(err)
	}
}
