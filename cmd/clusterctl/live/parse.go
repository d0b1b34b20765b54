package live

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// argumentsMax and argumentBytesMax bound a command of the stream.
const (
	argumentsMax     = 1 << 20
	argumentBytesMax = 1 << 30
)

// streamReader reads the commands of a stream and counts its bytes.
type streamReader struct {
	in *bufio.Reader
	// offset is the offset after the last command that was read.
	offset int64
}

// command reads the next command.
func (r *streamReader) command() ([]any, error) {
	for {
		line, err := r.line()
		if err != nil {
			return nil, err
		}
		if line == "" {
			continue // keeps the link alive
		}
		n, err := number(line, '*', argumentsMax)
		if err != nil {
			return nil, err
		}
		args := make([]any, 0, min(n, 1024))
		for range n {
			text, err := r.argument()
			if err != nil {
				return nil, err
			}
			args = append(args, text)
		}
		if n > 0 {
			return args, nil
		}
	}
}

func (r *streamReader) line() (string, error) {
	b, err := r.in.ReadSlice('\n')
	r.offset += int64(len(b))
	return strings.TrimRight(string(b), "\r\n"), err
}

func (r *streamReader) argument() (string, error) {
	line, err := r.line()
	if err != nil {
		return "", err
	}
	n, err := number(line, '$', argumentBytesMax)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	got, err := io.CopyN(&b, r.in, int64(n)+2)
	r.offset += got
	if err != nil {
		return "", err
	}
	return b.String()[:n], nil
}

func number(line string, mark byte, most int) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(line, string(mark)))
	if err != nil || line[0] != mark || n < 0 || n > most {
		return 0, fmt.Errorf("the source's stream makes no sense: %.40q", line)
	}
	return n, nil
}
