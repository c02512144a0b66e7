import Foundation

/// A measured value with an upper bound.
struct Figure: Encodable {
    var id: String
    var title: String
    var unit: String
    /// The upper bound.
    var target: Double
    var value: Double
    var remarks: [String] = []

    var isMet: Bool { value <= target }

    var lines: [String] {
        [
            "\(id)  \(title)",
            "     \(Self.text(value)) \(unit), wanted ≤ \(Self.text(target)): \(isMet ? "met" : "NOT MET")",
        ] + remarks.map { "     \($0)" }
    }

    /// The row of the table of results: id, what was measured, the result, the target, and whether it is met.
    var row: [String] {
        [id, title, "\(Self.text(value)) \(unit)", "≤ \(Self.text(target))", isMet ? "met" : "**not met**"]
    }

    /// A number with two decimals, or without any from 100 on.
    static func text(_ value: Double) -> String {
        value >= 100 ? String(Int(value.rounded())) : String(format: "%.2f", value)
    }
}
