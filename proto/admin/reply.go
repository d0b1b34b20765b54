package admin

import (
	"fmt"

	"lockstep/engine/decimal"
	"lockstep/proto/client"
)

// fold is client.Fold.
func fold(b []byte) string { return client.Fold(b) }

func parseInt(b []byte) (int64, bool) { return decimal.Int(b) }

// help writes a container's HELP, in Redis's form.
func help(r *client.Request, lines ...string) {
	lines = append(lines, "HELP", "    Prints this help.")
	r.Out.Array(len(lines))
	for _, l := range lines {
		r.Out.Status(l)
	}
}

// pair writes a field and its value.
func pair(r *client.Request, name, value string) {
	r.Out.BulkString(name)
	r.Out.BulkString(value)
}

// texts writes a field that is a list.
func texts(r *client.Request, name string, values []string) {
	r.Out.BulkString(name)
	list(r, values)
}

// wrongSubcommand answers a subcommand with a wrong number of arguments that its row allows.
func wrongSubcommand(r *client.Request, container string, args [][]byte) {
	r.Out.Error(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try %s HELP.", args[1], container))
}

// list writes an array of texts.
func list(r *client.Request, list []string) {
	r.Out.Array(len(list))
	for _, s := range list {
		r.Out.BulkString(s)
	}
}

// okOr answers OK, or the error.
func okOr(r *client.Request, err error) {
	if err != nil {
		r.Out.Error(err.Error())
		return
	}
	r.Out.OK()
}

// integer reads a whole number, or answers with text as the error.
func integer(r *client.Request, arg []byte, text string) (int64, bool) {
	n, ok := parseInt(arg)
	if !ok {
		r.Out.Error(text)
	}
	return n, ok
}

// timeout reads a time that is not negative, or answers with an error.
func timeout(r *client.Request, arg []byte) (int64, bool) {
	n, refusal := client.ParseTimeout(arg)
	if refusal != "" {
		r.Out.Error(refusal)
	}
	return n, refusal == ""
}
