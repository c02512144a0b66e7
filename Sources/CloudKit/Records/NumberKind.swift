import Foundation

/// The Swift type that a number was made of: it decides between INT64 and DOUBLE.
enum NumberKind {
    case bool, integer, unsigned, double

    init(_ number: NSNumber) {
        // Booleans share their letter with small negative integers, but are two objects of their own.
        if number === Self.yes || number === Self.no {
            self = .bool
            return
        }
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): self = .double
        case UInt8(ascii: "Q"), UInt8(ascii: "L"): self = .unsigned
        default: self = .integer
        }
    }

    private static let yes = NSNumber(value: true)
    private static let no = NSNumber(value: false)
}
