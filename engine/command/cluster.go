package command

var clusterFamily = []*Spec{}
