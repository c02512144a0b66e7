import Foundation

// Foundation on Apple's platforms has this by key-value coding, which Foundation on Linux lacks; apps keep their change tokens
// with it. Where Foundation offers it, that is taken.
extension UserDefaults {
    /// The same as `set(_:forKey:)`; nil removes the value.
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey key: String) { set(value, forKey: key) }
}
