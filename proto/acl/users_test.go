package acl

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/acl"
)

func usersOf(t *testing.T, requirePass string, lines ...string) *Users {
	t.Helper()
	records, err := Parse(lines, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return NewUsers(records, requirePass, nil)
}

func names(u *Users) (all []string) {
	for _, a := range u.All() {
		all = append(all, a.Name)
	}
	return all
}

func TestUsersAreByNameAndTheDefaultOneIsAlwaysThere(t *testing.T) {
	u := usersOf(t, "", "user zoe on", "user ann on >secret ~* +@all")
	if want := []string{"ann", "default", "zoe"}; !slices.Equal(names(u), want) {
		t.Errorf("%q", names(u))
	}
	if !u.Open() || u.Get("ann") == nil || u.Get("nobody") != nil || u.Default().Name != Default || !u.Default().MayAll() {
		t.Error("without a password the default user is not open, or a user is not found")
	}
	for _, c := range []struct{ name, password, who string }{
		{"ann", "secret", "ann"}, {"ann", "wrong", ""}, {"ann", "", ""}, {"nobody", "secret", ""}, {"zoe", "", ""}, {"default", "anything", "default"},
	} {
		who := ""
		if a := u.LogIn(c.name, c.password); a != nil {
			who = a.Name
		}
		if who != c.who {
			t.Errorf("%s with %q is %q, want %q", c.name, c.password, who, c.who)
		}
	}
	if off := usersOf(t, "", "user ann off nopass"); off.LogIn("ann", "") != nil {
		t.Error("a user that is off logs in")
	}
}

// TestRequirePassIsTheDefaultUsersUntilItHasRules: after that only its rules count.
func TestRequirePassIsTheDefaultUsersUntilItHasRules(t *testing.T) {
	u := usersOf(t, "pw")
	if u.Open() || u.LogIn(Default, "") != nil || u.LogIn(Default, "pw") == nil || strings.Contains(u.Default().Record.Rules, "pw") {
		t.Errorf("rules %q", u.Default().Record.Rules)
	}
	u = usersOf(t, "pw", "user default on >other ~* +@all")
	if u.Open() || u.LogIn(Default, "pw") != nil || u.LogIn(Default, "other") == nil {
		t.Error("requirepass opens a user that has rules of its own")
	}
}

// TestWhoIsLoggedInStaysOrIsCutOff: a user whose rules change is the same user. One that was
// deleted and made again is another user.
func TestWhoIsLoggedInStaysOrIsCutOff(t *testing.T) {
	was := NewUsers([]Record{{"ann", "on nopass", 1}, {"bob", "on nopass", 2}}, "", nil)
	now := NewUsers([]Record{{"ann", "off nopass", 1}, {"bob", "on nopass", 5}, {"zoe", "on", 6}}, "", was)
	if a := now.Successor(was.Get("ann")); a == nil || a.On() {
		t.Error("ann is not who she was, or is on")
	}
	if now.Successor(was.Get("bob")) != nil {
		t.Error("another bob is taken for the one of before")
	}
	if NewUsers(nil, "", now).Successor(now.Get("zoe")) != nil {
		t.Error("somebody deleted has a successor")
	}
	if made := NewUsers([]Record{{Default, "on nopass +@all", 9}}, "", was); made.Successor(was.Default()) == nil {
		t.Error("the default user was cut off by getting rules")
	}
	same := NewUsers([]Record{{"bob", "on nopass", 2}}, "", was)
	if same.Get("bob") != was.Get("bob") || now.Get("ann") == was.Get("ann") {
		t.Error("an account is made anew without need, or kept though it changed")
	}
}

func TestOnlyWhoMayNotDoEverythingCarriesPermissions(t *testing.T) {
	u := usersOf(t, "", "user all on nopass ~* &* +@all", "user some on nopass ~a* +get")
	if u.Get("all").Carried != nil {
		t.Error("a user that may do everything carries permissions")
	}
	carried := string(u.Get("some").Carried)
	if carried == "" || acl.Read(carried).MayAll() || strings.Contains(carried, "nopass") {
		t.Errorf("carried: %q", carried)
	}
}

func TestRulesAreAddedToThoseThereAre(t *testing.T) {
	u := usersOf(t, "", "user ann on nopass ~a* +get")
	r, err := u.WithRules("ann", []string{"+set", "~b*"}, Options{})
	if got := acl.Read(r.Rules); err != nil || r.Name != "ann" || !got.On() || r.Rules != "on nopass sanitize-payload ~a* ~b* resetchannels -@all +get +set" && r.Rules != "on nopass ~a* ~b* resetchannels -@all +get +set" {
		t.Errorf("%q, %v", r.Rules, err)
	}
	if r, err := u.WithRules("new", nil, Options{AllChannels: true}); err != nil || !strings.Contains(r.Rules, "&*") || !strings.HasPrefix(r.Rules, "off") {
		t.Errorf("%q, %v", r.Rules, err)
	}
	var bad *RuleError
	if _, err := u.WithRules("ann", []string{"+set", "+nosuch"}, Options{}); !errors.As(err, &bad) || bad.Rule != "+nosuch" || !strings.HasPrefix(err.Error(), "ERR Error in ACL SETUSER modifier '+nosuch': ") {
		t.Error(err)
	}
	if _, err := u.WithRules("ann", []string{"(+get", "~x"}, Options{}); err == nil || err.Error() != "ERR Unmatched parenthesis in acl selector starting at '(+get'." {
		t.Error(err)
	}
	if got := u.Get("ann").Record.Rules; strings.Contains(got, "+set") {
		t.Errorf("a rule that was refused changed the user: %q", got)
	}
}

func TestNamesHaveNoSpaces(t *testing.T) {
	for name, want := range map[string]bool{"ann": true, "": false, "a b": false, "a\nuser evil on": false, "a\tb": false, "a\x00": false, "ä\xff": true, "#x": true} {
		if ValidName(name) != want {
			t.Errorf("%q", name)
		}
	}
}

func TestMemoryKeepsUsersWithoutACluster(t *testing.T) {
	pass := "pw"
	m := &Memory{RequirePass: func() string { return pass }}
	set := func(name, rules string) func(*Users) (Change, error) {
		return func(*Users) (Change, error) { return Change{Set: []Record{{Name: name, Rules: rules}}}, nil }
	}
	if err := m.ChangeUsers(set("ann", "on nopass")); err != nil {
		t.Fatal(err)
	}
	ann := m.Users().Get("ann")
	if err := m.ChangeUsers(set("ann", "off nopass")); err != nil || m.Users().Successor(ann) == nil || m.Users().Get("ann").On() {
		t.Error("ann's rules did not change, or it is another ann")
	}
	refused := errors.New("refused")
	if err := m.ChangeUsers(func(*Users) (Change, error) { return Change{Delete: []string{"ann"}}, refused }); !errors.Is(err, refused) || m.Users().Get("ann") == nil {
		t.Error("what was refused was done")
	}
	if err := m.ChangeUsers(func(*Users) (Change, error) { return Change{Delete: []string{"ann"}}, nil }); err != nil || m.Users().Get("ann") != nil {
		t.Error("ann was not deleted")
	}
	if err := m.ChangeUsers(set("ann", "on nopass")); err != nil || m.Users().Successor(ann) != nil {
		t.Error("another ann is taken for the one of before")
	}
	if pass = ""; !m.Users().Open() {
		t.Error("requirepass does not follow its setting")
	}
}
