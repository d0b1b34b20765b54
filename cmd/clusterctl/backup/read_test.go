package backup

import (
	"strings"
	"testing"
)

// Commands can turn a stream that RESTORE accepted into one that cannot be read back. If it
// prevents a backup, the error names the key to delete.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	const streamListpacks3 = "\x15"
	text := "REDIS0011\xfe\x03" + streamListpacks3 + "\x06events\x01\x03bad"
	err := ReadFile(strings.NewReader(text), Visitor{})
	if err == nil || !strings.Contains(err.Error(), `key "events" of database 3: stream: bad data`) {
		t.Error(err)
	}
}
