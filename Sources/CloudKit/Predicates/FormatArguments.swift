// The conformances below are for other people's types, and that is their purpose.
// swift-format-ignore-file: AvoidRetroactiveConformances

import Foundation

// Published code hands objects to `NSPredicate(format:)` as `date as CVarArg`. Foundation's own objects are no such
// arguments here; these conformances make that spelling compile, and `String(format: "%@", …)` takes them too.

extension NSObject: @retroactive CVarArg {
    /// The object's address, which is what the reader of a `%@` takes; the caller's argument list keeps the object alive.
    public var _cVarArgEncoding: [Int] {
        [Int(bitPattern: Unmanaged.passUnretained(self).toOpaque())]
    }
}

// An argument list asks for `_cVarArgObject` first and keeps that object; the encoding of the value itself is asked for
// by nobody, so it may leak the object rather than hand out an address that is gone.

extension Date: @retroactive CVarArg, @retroactive _CVarArgObject {
    public var _cVarArgObject: any CVarArg { self as NSDate }

    public var _cVarArgEncoding: [Int] {
        [Int(bitPattern: Unmanaged.passRetained(self as NSDate).toOpaque())]
    }
}

extension Array: @retroactive CVarArg, @retroactive _CVarArgObject {
    public var _cVarArgObject: any CVarArg { self as NSArray }

    public var _cVarArgEncoding: [Int] {
        [Int(bitPattern: Unmanaged.passRetained(self as NSArray).toOpaque())]
    }
}
