/// A large value that its copies share until one of them changes it.
struct SharedValue<Value: Hashable & Sendable>: Sendable {
    // Only changed where no other copy refers to it, as the storage of an array.
    private final class Storage: @unchecked Sendable {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var storage: Storage

    init(_ value: Value) { storage = Storage(value) }

    var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }
}

extension SharedValue: Hashable {
    static func == (one: Self, other: Self) -> Bool { one.storage === other.storage || one.value == other.value }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
