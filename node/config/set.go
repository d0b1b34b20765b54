package config

import (
	"errors"
	"fmt"
	"strings"
)

// Set answers CONFIG SET: it sets all pairs or none. The error's text is the reply,
// in Redis's words where Redis has the error. Replicated directives go through the
// cluster's log and are in force here when Set returns; if the log cannot be
// written to, nothing is set. They go first: the other pairs have been checked, and
// fail only if a concurrent Set contradicts them.
func (c *Config) Set(pairs []Pair) error {
	plan, err := c.plan(pairs)
	if err != nil {
		return err
	}
	var local, shared []assignment
	var sharedPairs []Pair
	c.mu.Lock()
	replicate := c.replicate
	c.mu.Unlock()
	for _, a := range plan {
		if replicate != nil && a.directive.Has(Replicated) {
			shared = append(shared, a)
			sharedPairs = append(sharedPairs, Pair{a.directive.Name, a.args[0]})
			continue
		}
		local = append(local, a)
	}
	if len(shared) > 0 {
		if err := replicate(sharedPairs); err != nil {
			return err
		}
	}
	return c.assign(local)
}

// CheckSet returns the error with which Set would refuse pairs. It sets nothing.
func (c *Config) CheckSet(pairs []Pair) error {
	_, err := c.plan(pairs)
	return err
}

// ReplicateWith sets the function that writes settings to the cluster's log. send
// returns nil when the settings are in the log and [Config.ApplyReplicated] has been
// called with them on this node. The text of its error is the reply.
func (c *Config) ReplicateWith(send func([]Pair) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replicate = send
}

// ApplyReplicated puts settings of the cluster's log into force. It does not fail:
// a directive of a later version, or a value that this version does not take, is
// reported as a warning, and the other settings hold.
func (c *Config) ApplyReplicated(pairs []Pair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.current.Load().clone()
	for _, p := range pairs {
		d, ok := Lookup(p.Name)
		if !ok || !d.Has(Replicated) {
			c.warn(Warning{"the cluster", unknown("replicated directive", p.Name)})
			continue
		}
		if err := next.assign(assignment{d, []string{p.Value}, Origin{Source: FromCluster}}); err != nil {
			c.warn(Warning{"the cluster", fmt.Sprintf("%s %s: %v", d.Name, shown(d, p.Value), err)})
		}
	}
	for _, text := range conflicts(next) {
		c.warn(Warning{"the cluster", text})
	}
	c.publishLocked(next)
}

var (
	errImmutable = errors.New("can't set immutable config")
	errGuarded   = errors.New("can't set protected config")
	errDuplicate = errors.New("duplicate parameter")
)

func setFailed(name string, err error) error {
	return fmt.Errorf("ERR CONFIG SET failed (possibly related to argument '%s') - %w", name, err)
}

// plan checks everything and sets nothing. As in Redis, names are checked before
// values. An error about a name spells the name as the client did; an error about a
// value has the name in lower case.
func (c *Config) plan(pairs []Pair) ([]assignment, error) {
	plan := make([]assignment, 0, len(pairs))
	seen := make(map[*Directive]bool, len(pairs))
	for _, p := range pairs {
		d, ok := Lookup(strings.ToLower(p.Name))
		switch {
		case !ok || d.Has(fileOnly):
			return nil, fmt.Errorf("ERR Unknown option or number of arguments for CONFIG SET - '%s'", p.Name)
		case d.Has(guarded):
			return nil, setFailed(p.Name, errGuarded)
		case d.Has(Immutable):
			return nil, setFailed(p.Name, errImmutable)
		case seen[d]:
			return nil, setFailed(p.Name, errDuplicate)
		}
		seen[d] = true
		plan = append(plan, assignment{d, []string{p.Value}, Origin{Source: FromConfigSet}})
	}
	trial := c.Current().clone()
	for i, a := range plan {
		if err := trial.assign(a); err != nil {
			return nil, setFailed(strings.ToLower(pairs[i].Name), err)
		}
	}
	if wrong := conflicts(trial); len(wrong) > 0 {
		return nil, setFailed(pairs[0].Name, errors.New(wrong[0]))
	}
	c.mu.Lock()
	check := c.check
	c.mu.Unlock()
	if check != nil {
		if err := check(trial, pairs); err != nil {
			return nil, setFailed(pairs[0].Name, err)
		}
	}
	return plan, nil
}

// CheckWith sets a check that may refuse a CONFIG SET. It gets the settings as they
// would be, and the pairs.
func (c *Config) CheckWith(check func(*Settings, []Pair) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.check = check
}

// assign puts checked assignments into force, all at once. It checks them again,
// because a concurrent caller may have changed other settings.
func (c *Config) assign(list []assignment) error {
	if len(list) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.current.Load().clone()
	for _, a := range list {
		if err := next.assign(a); err != nil {
			return setFailed(a.directive.Name, err)
		}
	}
	if wrong := conflicts(next); len(wrong) > 0 {
		return setFailed(list[0].directive.Name, errors.New(wrong[0]))
	}
	for _, a := range list {
		if verdict, why := a.directive.applyPolicy(next.text[a.directive.row]); verdict == verdictIgnore {
			c.warn(Warning{"CONFIG SET", fmt.Sprintf("%s is ignored: %s", a.directive.Name, why)})
		}
	}
	c.publishLocked(next)
	return nil
}

// assign sets one directive in settings that are not yet published.
func (s *Settings) assign(a assignment) error {
	d := a.directive
	text, err := d.kind.set(s, a.args)
	if err != nil {
		return err
	}
	if verdict, why := d.applyPolicy(text); verdict == verdictKeep || verdict == verdictRefuse {
		return errors.New(why)
	}
	s.text[d.row], s.origin[d.row] = text, a.origin
	return nil
}
