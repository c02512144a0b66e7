// The conformances below are retroactive on purpose.
// swift-format-ignore-file: AvoidRetroactiveConformances

import Foundation

// Published code hands objects to `NSPredicate(format:)` as `date as CVarArg`. Foundation's own objects are no such
// arguments here; these conformances make that spelling compile, and `String(format: "%@", …)` takes them too.

extension NSObject: @retroactive CVarArg {
    /// The object's address, which the reader of a `%@` takes; the caller's argument list keeps the object alive.
    public var _cVarArgEncoding: [Int] {
        [Int(bitPattern: Unmanaged.passUnretained(self).toOpaque())]
    }
}

// An argument list asks for `_cVarArgObject` first and keeps that object; no caller asks for the encoding of the value
// directly, so it may leak the object rather than return an address that is no longer valid.

extension Date: @retroactive CVarArg, @retroactive _CVarArgObject {
    /// The object that stands for the value in a predicate’s arguments.
    public var _cVarArgObject: any CVarArg { self as NSDate }

    /// The words that the value takes in a list of arguments.
    public var _cVarArgEncoding: [Int] {
        [Int(bitPattern: Unmanaged.passRetained(self as NSDate).toOpaque())]
    }
}

extension Array: @retroactive CVarArg, @retroactive _CVarArgObject {
    /// The object that stands for the value in a predicate’s arguments.
    public var _cVarArgObject: any CVarArg { self as NSArray }

    /// The words that the value takes in a list of arguments.
    public var _cVarArgEncoding: [Int] {
        [Int(bitPattern: Unmanaged.passRetained(self as NSArray).toOpaque())]
    }
}
