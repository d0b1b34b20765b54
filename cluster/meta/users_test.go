package meta

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func (l *log) users() (lines []string) {
	for _, u := range l.m.View().Users {
		lines = append(lines, fmt.Sprintf("%s %s", u.Name, u.Rules))
	}
	return lines
}

func (l *log) after() uint64 { return l.m.View().UserChanges }

func TestUsersAreMadeChangedAndDeletedTogether(t *testing.T) {
	l := created(t, 1)
	l.must(&ChangeUsers{Set: []UserRules{{"zoe", "on"}, {"ann", "off"}, {"bob\xff\x00", "on ~\xfe"}}})
	if want := []string{"ann off", "bob\xff\x00 on ~\xfe", "zoe on"}; !slices.Equal(l.users(), want) {
		t.Fatalf("%q", l.users())
	}
	made := l.m.View().Users[0].Made
	l.must(&ChangeUsers{After: l.after(), Set: []UserRules{{"ann", "on"}}, Delete: []Text{"zoe", "nobody"}})
	if want := []string{"ann on", "bob\xff\x00 on ~\xfe"}; !slices.Equal(l.users(), want) {
		t.Errorf("%q", l.users())
	}
	if l.m.View().Users[0].Made != made {
		t.Error("a user whose rules change is another one")
	}
	// A user that is deleted and made again, in one command or in two, is another user.
	l.must(&ChangeUsers{After: l.after(), Set: []UserRules{{"ann", "on"}}, Delete: []Text{"ann"}})
	again := l.m.View().Users[0].Made
	l.must(&ChangeUsers{After: l.after(), Delete: []Text{"ann"}})
	l.must(&ChangeUsers{After: l.after(), Set: []UserRules{{"ann", "on"}}})
	if last := l.m.View().Users[0].Made; again == made || last == again {
		t.Errorf("made at %d, %d and %d", made, again, last)
	}
}

// TestUsersChangeFromWhatWasSeen: a proposer that computed rules from an old state of the users
// must start again, unless nothing is left to do.
func TestUsersChangeFromWhatWasSeen(t *testing.T) {
	l := created(t, 1)
	first := &ChangeUsers{Set: []UserRules{{"ann", "on"}}}
	l.must(first)
	l.same(first) // asked again because the answer was lost
	l.refused(&ChangeUsers{Set: []UserRules{{"ann", "off"}}}, ErrStale, "the users have changed meanwhile")
	l.refused(&ChangeUsers{After: l.after() + 1, Delete: []Text{"ann"}}, ErrStale, "the users have changed meanwhile")
	l.same(&ChangeUsers{First: true, Set: []UserRules{{"eve", "on"}}})
	l.same(&ChangeUsers{Delete: []Text{"nobody"}})
	if !slices.Equal(l.users(), []string{"ann on"}) {
		t.Errorf("%q", l.users())
	}
	none := newLog(t)
	none.refused(first, ErrNotCreated, "")
}

// TestUsersAreBounded: a command that exceeds a bound changes nothing, not even in part.
func TestUsersAreBounded(t *testing.T) {
	l := created(t, 1)
	l.refused(&ChangeUsers{Set: []UserRules{{"ann", "on"}, {"", "on"}}}, ErrInvalid, "needs a name")
	l.refused(&ChangeUsers{Set: []UserRules{{"ann", Text(strings.Repeat("x", MaxUserBytes))}}}, ErrInvalid, "too long")
	l.must(&ChangeUsers{Set: []UserRules{{"ann", Text(strings.Repeat("x", MaxUserBytes-3))}}})
	// A command has a bound as well, so users come in pieces.
	const piece = 512
	many := make([]UserRules, MaxUsers)
	for i := range many {
		many[i] = UserRules{Text(fmt.Sprint("user", i)), "on"}
	}
	l.refused(&ChangeUsers{After: l.after(), Set: []UserRules{{"ann", "on"}, {"long", Text(strings.Repeat("x", MaxUserBytes-4))}, {"", "on"}}}, ErrInvalid, "needs a name")
	for some := range slices.Chunk(many[piece:], piece) {
		l.must(&ChangeUsers{After: l.after(), Set: some})
	}
	l.refused(&ChangeUsers{After: l.after(), Set: many[:piece]}, ErrTooMany, "4096 users")
	l.must(&ChangeUsers{After: l.after(), Set: many[1:piece]})
	if n := len(l.m.View().Users); n != MaxUsers {
		t.Errorf("%d users", n)
	}
	long := Text(strings.Repeat("r", MaxUserBytes/2))
	bytes := 0
	for pair := range slices.Chunk(many[1:], 2) {
		change := &ChangeUsers{After: l.after(), Set: []UserRules{{pair[0].Name, long}}}
		if bytes += len(long); bytes > MaxUsersBytes-MaxUserBytes-MaxUsers*len("user1000on") {
			l.refused(&ChangeUsers{After: l.after(), Set: []UserRules{{pair[0].Name, long}, {pair[1].Name, long}, {many[len(many)-1].Name, long}, {many[len(many)-2].Name, long}}}, ErrTooMany, "bytes of rules")
			return
		}
		l.must(change)
	}
	t.Error("all were taken")
}

// TestEarlierViewsKeepTheirUsers: an earlier view must not change, because readers take no lock.
func TestEarlierViewsKeepTheirUsers(t *testing.T) {
	l := created(t, 1)
	l.must(&ChangeUsers{Set: []UserRules{{"ann", "on"}, {"bob", "on"}}})
	view := l.m.View()
	before := slices.Clone(view.Users)
	l.must(&ChangeUsers{After: 1, Set: []UserRules{{"bob", "off"}, {"abe", "on"}}, Delete: []Text{"ann"}})
	if !reflect.DeepEqual(view.Users, before) {
		t.Errorf("%v, was %v", view.Users, before)
	}
}

func TestTextKeepsEveryByte(t *testing.T) {
	var all []byte
	for b := range 256 {
		all = append(all, byte(b))
	}
	u := User{Name: Text(all), Rules: "\u2028 \xed\xa0\x80", Made: 7}
	data, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	var back User
	if err := json.Unmarshal(data, &back); err != nil || back != u {
		t.Errorf("%+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"name":"not quoted"}`), &back); err == nil {
		t.Error("what was not quoted is taken")
	}
}
