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
        func text(_ value: Double) -> String {
            value >= 100 ? String(Int(value.rounded())) : String(format: "%.2f", value)
        }
        return [
            "\(id)  \(title)",
            "     \(text(value)) \(unit), wanted ≤ \(text(target)): \(isMet ? "met" : "NOT MET")",
        ] + remarks.map { "     \($0)" }
    }
}
