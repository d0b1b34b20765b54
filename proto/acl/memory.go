package acl

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Memory keeps users without a cluster, for tests of a server that has none.
type Memory struct {
	// RequirePass is the default user's password until it has rules.
	RequirePass func() string

	mu      sync.Mutex // guards what follows
	made    uint64
	pass    string
	records []Record
	now     atomic.Pointer[Users]
}

// Users are the current users.
func (m *Memory) Users() *Users {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pass := m.RequirePass(); m.now.Load() == nil || pass != m.pass {
		m.pass = pass
		m.now.Store(NewUsers(m.records, pass, m.now.Load()))
	}
	return m.now.Load()
}

// ChangeUsers changes them.
func (m *Memory) ChangeUsers(work func(*Users) (Change, error)) error {
	change, err := work(m.Users())
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = slices.DeleteFunc(m.records, func(r Record) bool { return slices.Contains(change.Delete, r.Name) })
	for _, set := range change.Set {
		m.made++
		i := slices.IndexFunc(m.records, func(r Record) bool { return r.Name == set.Name })
		if i < 0 {
			i, m.records = len(m.records), append(m.records, Record{Name: set.Name, Made: m.made})
		}
		m.records[i].Rules = set.Rules
	}
	m.now.Store(NewUsers(m.records, m.pass, m.now.Load()))
	return nil
}
