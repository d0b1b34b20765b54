package command

var connectionFamily = []*Spec{}
