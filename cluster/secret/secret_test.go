package secret

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestParseTakesTheCurrentAndThePrevious(t *testing.T) {
	for text, want := range map[string]error{
		"":                                  nil,
		textA:                               nil,
		textA + " " + textB:                 nil,
		textA + "\r\n\t" + textB + "\n":     nil,
		textA + " " + textB + " " + textC:   ErrMany,
		textA + " " + textA:                 ErrTwice,
		"too-short":                         ErrShort,
		strings.Repeat("x", TextBytesMax):   nil,
		strings.Repeat("x", TextBytesMax+1): ErrShort,
		"fünfzehn-und-noch-mehr":            ErrLetter,
		"with-a-\x00-in-it-somewhere":       ErrLetter,
	} {
		list, err := Parse(text)
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
		if err == nil && len(list) != len(strings.Fields(text)) {
			t.Errorf("%q: %d secrets", text, len(list))
		}
		if err != nil && strings.Contains(err.Error(), text) && text != "" {
			t.Errorf("the error tells the secret: %v", err)
		}
		if again, err := Parse(list.Text()); err != nil || !again.Equal(list) {
			t.Errorf("%q does not come back: %v", text, err)
		}
	}
}

func TestListsKnowWhatTheyHaveInCommon(t *testing.T) {
	a, ab, c := listOf(t, textA), listOf(t, textB, textA), listOf(t, textC)
	if !a.Shares(ab) || !ab.Shares(a) || a.Shares(c) || a.Shares(nil) || List(nil).Shares(a) {
		t.Error("Shares is wrong")
	}
	if a.Equal(ab) || !a.Equal(listOf(t, textA)) {
		t.Error("Equal is wrong")
	}
	if p := ab.Prints(); p[0] == p[1] || p[1] != a.Prints()[0] || strings.Contains(textA, p[1]) {
		t.Errorf("prints %q", p)
	}
}

// TestASecretIsNotShownByAccident: no way of printing or logging reveals it.
func TestASecretIsNotShownByAccident(t *testing.T) {
	list := listOf(t, textA)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", list[0], "list", list)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", list[0])
	shown := log.String() + fmt.Sprintf("%v %+v %#v %s %q %v %+v", list[0], list[0], list[0], list[0], list[0], list, list)
	if strings.Contains(shown, textA) || !strings.Contains(shown, hidden) {
		t.Errorf("shown: %s", shown)
	}
}

func TestASecretOfAPasswordIsTheSameEverywhere(t *testing.T) {
	a, b := FromPassword("sesame"), FromPassword("sesame")
	if !a.Same(b) || a.Same(FromPassword("Sesame")) || strings.Contains(a.Text(), "sesame") {
		t.Error("the secret of a password is not what it should be")
	}
	if again, err := New(a.Text()); err != nil || !again.Same(a) {
		t.Errorf("it cannot be kept as a text: %v", err)
	}
	if Make().Same(Make()) {
		t.Error("a secret was drawn twice")
	}
}
