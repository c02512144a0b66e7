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
    var ratio: Double { Self.median(ratios) }

    private var ratios: [Double] { zip(measured, yardstick).map { $0 / $1 } }

    var isMet: Bool { bound == .atLeast ? ratio >= target : ratio <= target }

    static func median(_ values: [Double]) -> Double {
        guard !values.isEmpty else { return .nan }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    var lines: [String] {
        let rounds = ratios.map { String(format: "%.2f", $0) }.joined(separator: " ")
        let bounds =
            target == 0
            ? "" : ", wanted \(bound.rawValue) \(String(format: "%.2f", target)): \(isMet ? "met" : "NOT MET")"
        return [
            "\(id)  \(title)",
            "     \(Figure.text(median)) against \(Figure.text(medianOfYardstick)) \(unit)",
            "     ratio \(String(format: "%.2f", ratio))\(bounds)   (rounds: \(rounds))",
        ] + remarks.map { "     \($0)" }
    }

    /// The row of the table of results: id, what was measured, the result, the target, and whether it is met.
    var row: [String] {
        let ratios = ratios.filter(\.isFinite)
        let spread =
            ratios.count < 2
            ? "" : String(format: " (%.2f to %.2f)", ratios.min() ?? .nan, ratios.max() ?? .nan)
        return [
            id, "\(title): \(Figure.text(median)) against \(Figure.text(medianOfYardstick)) \(unit)",
            String(format: "%.2f", ratio) + spread,
            target == 0 ? "" : "\(bound.rawValue) \(Figure.text(target))",
            target == 0 ? "" : isMet ? "met" : "**not met**",
        ]
    }

    private var median: Double { Self.median(measured) }
    private var medianOfYardstick: Double { Self.median(yardstick) }
}
