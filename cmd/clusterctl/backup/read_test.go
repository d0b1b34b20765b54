package backup

import (
	"strings"
	"testing"
)

// Commands can make of a stream that RESTORE took what is read back nowhere else. Who
// cannot make a backup for that is told which key to delete.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	const streamListpacks3 = "\x15"
	text := "REDIS0011\xfe\x03" + streamListpacks3 + "\x06events\x01\x03bad"
	err := ReadFile(strings.NewReader(text), Visitor{})
	if err == nil || !strings.Contains(err.Error(), `key "events" of database 3: stream: bad data`) {
		t.Error(err)
	}
}
