import CloudKitModel
import OrderedStore

/// A value in the form in which queries compare values.
enum ComparisonKey: Hashable, Sendable {
    case text(Bytes)
    case integer(Int64)
    case double(Double)
    case name(String)
    case place(Place)

    /// Texts that differ in case alone are equal (B-QRY-07); nil for values that no query compares.
    init?(_ value: FieldValue) {
        switch value {
        case .string(let text): self = .text(FoldedText.fold(text))
        case .int64(let number), .timestamp(let number): self = .integer(number)
        case .double(let number): self = .double(number)
        case .reference(let reference): self = .name(reference.recordName)
        case .location(let location): self = .place(Place(location))
        case .bytes, .asset, .list: return nil
        }
    }

    /// Whether this comes before the other; false between types.
    func precedes(_ other: ComparisonKey) -> Bool {
        switch (self, other) {
        case (.text(let left), .text(let right)): left.lexicographicallyPrecedes(right)
        case (.integer(let left), .integer(let right)): left < right
        case (.double(let left), .double(let right)): left < right
        default: false
        }
    }
}
