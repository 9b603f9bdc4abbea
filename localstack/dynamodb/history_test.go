package dynamodb_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The operations of the recorded histories: on single counters, and transfers between two.
type opKind int

const (
	readOp opKind = iota
	addOp
	swapOp
	deleteOp
	readAllOp
	transferOp
)

type input struct {
	group    string
	kind     opKind
	register int
	other    int
	from, to int
}

const registers = 4

// state is the values of all counters; absent ones are 0 like deleted ones, which the
// operations treat alike.
type state [registers]int

type output struct {
	ok    bool
	value int
	all   state
}

// serializable is the sequential table that a history must be explained by.
func serializable() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(st, in, out any) (bool, any) {
			s, i, o := st.(state), in.(input), out.(output)
			switch i.kind {
			case readOp:
				return o.value == s[i.register], s
			case readAllOp:
				return o.all == s, s
			case addOp:
				s[i.register]++
				return o.value == s[i.register], s
			case swapOp:
				if s[i.register] != i.from {
					return !o.ok && o.value == s[i.register], s
				}
				s[i.register] = i.to
				return o.ok, s
			case deleteOp:
				old := s[i.register]
				s[i.register] = 0
				return o.value == old, s
			case transferOp:
				if s[i.register] < 1 {
					return !o.ok, s
				}
				s[i.register]--
				s[i.other]++
				return o.ok, s
			default:
				return false, s
			}
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
	}
}

func register(group string, n int) map[string]types.AttributeValue { return key(group, asJSON(n)) }

func count(it map[string]types.AttributeValue) int {
	if v, ok := it["n"].(*types.AttributeValueMemberN); ok {
		var n int
		_, _ = fmt.Sscan(v.Value, &n)
		return n
	}
	return 0
}

// perform runs one operation through the SDK.
func (c *cloud) perform(t *testing.T, in input) (output, error) {
	table := aws.String("table")
	switch in.kind {
	case readOp:
		out, err := c.GetItem(t.Context(), &sdk.GetItemInput{TableName: table, Key: register(in.group, in.register), ConsistentRead: aws.Bool(true)})
		if err != nil {
			return output{}, err
		}
		return output{value: count(out.Item)}, nil
	case readAllOp:
		get := &sdk.TransactGetItemsInput{}
		for n := range registers {
			get.TransactItems = append(get.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: table, Key: register(in.group, n)}})
		}
		out, err := c.TransactGetItems(t.Context(), get)
		if err != nil {
			return output{}, err
		}
		var o output
		for n, r := range out.Responses {
			o.all[n] = count(r.Item)
		}
		return o, nil
	case addOp:
		out, err := c.UpdateItem(t.Context(), &sdk.UpdateItemInput{
			TableName: table, Key: register(in.group, in.register), UpdateExpression: aws.String("SET n = if_not_exists(n, :zero) + :one"),
			ExpressionAttributeValues: avs(item{":zero": 0, ":one": 1}), ReturnValues: types.ReturnValueUpdatedNew,
		})
		if err != nil {
			return output{}, err
		}
		return output{value: count(out.Attributes)}, nil
	case swapOp:
		return c.swap(t, in)
	case deleteOp:
		out, err := c.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: table, Key: register(in.group, in.register), ReturnValues: types.ReturnValueAllOld})
		if err != nil {
			return output{}, err
		}
		return output{value: count(out.Attributes)}, nil
	default:
		return c.transfer(t, in)
	}
}

func (c *cloud) swap(t *testing.T, in input) (output, error) {
	condition := "n = :from"
	if in.from == 0 {
		condition = "n = :from OR attribute_not_exists(n)"
	}
	_, err := c.PutItem(t.Context(), &sdk.PutItemInput{
		TableName: aws.String("table"), Item: avs(item{"pk": in.group, "sk": asJSON(in.register), "n": in.to}), ConditionExpression: aws.String(condition),
		ExpressionAttributeValues: avs(item{":from": in.from}), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return output{value: count(failed.Item)}, nil
	}
	return output{ok: true}, err
}

func (c *cloud) transfer(t *testing.T, in input) (output, error) {
	take := updateAction(register(in.group, in.register), "SET n = n - :one", item{":one": 1})
	take.Update.ConditionExpression = aws.String("n >= :one")
	_, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		take, updateAction(register(in.group, in.other), "ADD n :one", item{":one": 1}),
	}})
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		return output{}, nil
	}
	return output{ok: true}, err
}

// record lets clients run random operations of the kinds at the same time, on the registers of
// one group, and returns what each saw and when.
func (c *cloud) record(t *testing.T, group string, clients, each int, kinds ...opKind) []porcupine.Operation {
	histories := make([][]porcupine.Operation, clients)
	begin := time.Now()
	var done sync.WaitGroup
	for client := range clients {
		done.Go(func() {
			rng := rand.New(rand.NewPCG(42, uint64(client)))
			for range each {
				in := input{group: group, kind: kinds[rng.IntN(len(kinds))], register: rng.IntN(registers), from: rng.IntN(3), to: rng.IntN(3)}
				in.other = (in.register + 1 + rng.IntN(registers-1)) % registers
				call := time.Since(begin)
				out, err := c.perform(t, in)
				if err != nil {
					t.Error(err)
					return
				}
				histories[client] = append(histories[client], porcupine.Operation{ClientId: client, Input: in, Call: int64(call), Output: out, Return: int64(time.Since(begin))})
			}
		})
	}
	done.Wait()
	return slices.Concat(histories...)
}

// byRegister splits a history of operations on single items, which are independent.
func byRegister(history []porcupine.Operation) [][]porcupine.Operation {
	parts := make([][]porcupine.Operation, registers)
	for _, op := range history {
		n := op.Input.(input).register
		parts[n] = append(parts[n], op)
	}
	return parts
}

func TestSingleOperationsOfManyClientsAreLinearizable(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	total := 0
	for round := range 4 {
		history := c.record(t, asJSON(round), 32, 25, readOp, addOp, swapOp, deleteOp)
		model := serializable()
		model.Partition = byRegister
		if result := porcupine.CheckOperationsTimeout(model, history, time.Minute); result != porcupine.Ok {
			t.Fatalf("the history of %d operations by 32 clients is %s", len(history), result)
		}
		total += len(history)
	}
	t.Logf("%d operations by 32 clients", total)
}

// TestTransactionsOfManyClientsAreStrictlySerializable has 16 clients: transactions span the items, so a history cannot be checked item by item, and the search for an
// order of 32 that overlap does not end.
func TestTransactionsOfManyClientsAreStrictlySerializable(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	total := 0
	for round := range 20 {
		history := c.record(t, asJSON(round), 16, 8, readAllOp, addOp, transferOp, readAllOp)
		if result := porcupine.CheckOperationsTimeout(serializable(), history, time.Minute); result != porcupine.Ok {
			t.Fatalf("the history of %d operations by 16 clients is %s", len(history), result)
		}
		total += len(history)
	}
	t.Logf("%d operations by 16 clients", total)
}
