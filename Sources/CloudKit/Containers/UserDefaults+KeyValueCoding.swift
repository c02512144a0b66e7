import Foundation

// Foundation on Apple's platforms has this by key-value coding, which Foundation on Linux lacks; apps keep their change tokens
// with it. Where Foundation offers it, that is taken.
extension UserDefaults {
    /// The same as `set(_:forKey:)`; nil removes the value.
    ///
    /// On Apple's platforms a daemon keeps what a process set; here it is written at once, so that it is there after a crash.
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey key: String) {
        set(value, forKey: key)
        synchronize()
    }

    /// The same as `object(forKey:)`.
    @_disfavoredOverload
    public func value(forKey key: String) -> Any? { object(forKey: key) }
}
