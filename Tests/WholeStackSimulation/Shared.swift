/// A mutable value that several parts of a history share.
// Unchecked: this process has one thread (`deterministic_install`), which the campaign checks after each history.
final class Shared<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) { self.value = value }
}
