/// An optional inside an `Any`, as `record.setValue(optional, forKey:)` makes it.
private protocol OptionalValue {
    var content: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var content: Any? { self }
}

/// Returns a value without the optionals around it.
func withoutOptional(_ value: Any?) -> Any? {
    var value = value
    while let inner = value, let optional = inner as? any OptionalValue {
        value = optional.content
    }
    return value
}
