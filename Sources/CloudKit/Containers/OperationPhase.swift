/// The phase of an operation. It only moves forward: operations are single-use (B-OPS-03).
enum OperationPhase: Int, Comparable, Sendable {
    case ready, enqueued, executing, finished

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
