import Foundation

/// A measurement and its baseline, measured alternately, with the target of their ratio.
struct Comparison: Encodable {
    enum Bound: String, Encodable {
        case atLeast = "≥"
        case atMost = "≤"
    }

    var id: String
    var title: String
    var unit: String
    var bound: Bound
    var target: Double
    /// The values of the server, one per round.
    var measured: [Double] = []
    /// The values of the baseline, one per round.
    var yardstick: [Double] = []
    /// Further facts that explain the result.
    var remarks: [String] = []

    /// The median of the rounds' ratios; other load of the machine affects both halves of a round.
    var ratio: Double { Self.median(zip(measured, yardstick).map { $0 / $1 }) }

    var isMet: Bool { bound == .atLeast ? ratio >= target : ratio <= target }

    static func median(_ values: [Double]) -> Double {
        guard !values.isEmpty else { return .nan }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    var lines: [String] {
        func figure(_ value: Double) -> String {
            value >= 100 ? String(Int(value.rounded())) : String(format: "%.2f", value)
        }
        let (ours, theirs) = (Self.median(measured), Self.median(yardstick))
        let ratios = zip(measured, yardstick).map { String(format: "%.2f", $0 / $1) }.joined(separator: " ")
        let bounds =
            target == 0
            ? "" : ", wanted \(bound.rawValue) \(String(format: "%.2f", target)): \(isMet ? "met" : "NOT MET")"
        return [
            "\(id)  \(title)",
            "     \(figure(ours)) against \(figure(theirs)) \(unit)",
            "     ratio \(String(format: "%.2f", ratio))\(bounds)   (rounds: \(ratios))",
        ] + remarks.map { "     \($0)" }
    }
}
