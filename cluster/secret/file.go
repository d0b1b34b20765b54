package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"lockstep/ground/durable"
)

// fileBytesMax is how long a file with secrets may be.
const fileBytesMax = 16 << 10

// fileHead is the first line of the file in which a node keeps its secret.
const fileHead = "# The secret of this node's cluster, and behind it the previous one while it is changed. docs/security.md says more.\n"

// ReadFile reads a file with the current secret and, while the secret is being changed, the
// previous one: words separated by blanks or line ends. It ignores lines that begin with #. Its
// errors never contain text of the file.
func ReadFile(path string) (List, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(text) > fileBytesMax {
		return nil, fmt.Errorf("%s: more than %d bytes", path, fileBytesMax)
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			kept = append(kept, line)
		}
	}
	list, err := Parse(strings.Join(kept, " "))
	if err == nil && len(list) == 0 {
		err = errors.New("there is no secret in it")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// WriteFile writes secrets into a file that only the node's user can read. If it fails, the old
// file stays.
func WriteFile(path string, list List) error {
	return durable.Replace(path, []byte(fileHead+list.Text()), 0o600)
}
