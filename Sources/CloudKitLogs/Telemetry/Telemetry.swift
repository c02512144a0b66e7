/// The lengths of the intervals in which requests are counted.
package enum TelemetryResolution: Int, Hashable, Sendable, CaseIterable {
    case minute = 0
    case hour = 1
    case day = 2

    /// Milliseconds of an interval.
    package var milliseconds: Int64 {
        switch self {
        case .minute: 60_000
        case .hour: 3_600_000
        case .day: 86_400_000
        }
    }

    /// Days for which intervals of this length are kept.
    package var daysKept: Int {
        switch self {
        case .minute: 2
        case .hour: 60
        case .day: 800
        }
    }

    /// Returns the beginning of the interval in which a time lies.
    package func start(of time: Int64) -> Int64 { time - (time % milliseconds + milliseconds) % milliseconds }
}

/// What requests are counted by.
package struct TelemetryKey: Hashable, Sendable {
    /// The kind of the entries.
    package var kind: LogEntry.Kind
    /// The name of the container; nil for requests without one.
    package var container: String?
    /// The environment; nil for requests without one.
    package var environment: String?
    /// The endpoint, or the step of a notification.
    package var operation: String
    /// The name of the operation group.
    package var groupName: String?
    /// The code of the error; nil for success.
    package var code: String?

    /// Creates a key.
    package init(
        kind: LogEntry.Kind, container: String?, environment: String?, operation: String, groupName: String? = nil,
        code: String? = nil
    ) {
        self.kind = kind
        self.container = container
        self.environment = environment
        self.operation = operation
        self.groupName = groupName
        self.code = code
    }

    /// Creates the key of an entry.
    package init(_ entry: LogEntry) {
        self.init(
            kind: entry.kind, container: entry.container, environment: entry.environment, operation: entry.operation,
            groupName: entry.groupName, code: entry.code)
    }

    /// Returns a Boolean value that indicates whether this is the key of an entry.
    func isKey(of entry: LogEntry) -> Bool {
        kind == entry.kind && operation == entry.operation && container == entry.container
            && environment == entry.environment && code == entry.code && groupName == entry.groupName
    }

    /// The key of requests whose own key is one too many for an interval.
    package static func other(_ entry: LogEntry) -> TelemetryKey {
        TelemetryKey(
            kind: entry.kind, container: nil, environment: nil, operation: "(other)", groupName: nil, code: nil)
    }
}

/// The counts of requests with one key.
package struct TelemetryCounts: Hashable, Sendable {
    /// Requests.
    package var count = 0
    /// Bytes of bodies.
    package var bytesIn = 0
    /// Bytes of answers.
    package var bytesOut = 0
    /// Items of requests; decided notifications.
    package var itemsIn = 0
    /// Items of answers; sent notifications.
    package var itemsOut = 0
    /// Failed items; dropped notifications.
    package var itemsFailed = 0
    /// Requests whose client was asked to wait.
    package var throttled = 0
    /// How long the requests took.
    package var latencies = LatencyHistogram()

    /// Creates counts at zero.
    package init() {}

    /// Counts an entry.
    package mutating func add(_ entry: LogEntry) {
        count += 1
        bytesIn += entry.bytesIn
        bytesOut += entry.bytesOut
        itemsIn += entry.itemsIn
        itemsOut += entry.itemsOut
        itemsFailed += entry.itemsFailed
        if entry.isThrottled { throttled += 1 }
        if entry.kind != .push { latencies.add(microseconds: entry.microseconds) }
    }

    /// Adds other counts.
    package mutating func add(_ other: TelemetryCounts) {
        count += other.count
        bytesIn += other.bytesIn
        bytesOut += other.bytesOut
        itemsIn += other.itemsIn
        itemsOut += other.itemsOut
        itemsFailed += other.itemsFailed
        throttled += other.throttled
        latencies.add(other.latencies)
    }
}

/// Counts that belong to the minute in which they were made.
package struct TelemetrySample: Hashable, Sendable {
    /// The beginning of the minute, in milliseconds since 1970.
    package var minute: Int64
    /// The key.
    package var key: TelemetryKey
    /// The counts.
    package var counts: TelemetryCounts

    /// Creates a sample.
    package init(minute: Int64, key: TelemetryKey, counts: TelemetryCounts) {
        self.minute = minute
        self.key = key
        self.counts = counts
    }
}

/// The counts of an interval and a key.
package struct TelemetryPoint: Hashable, Sendable {
    /// The beginning of the interval, in milliseconds since 1970.
    package var start: Int64
    /// The key.
    package var key: TelemetryKey
    /// The counts.
    package var counts: TelemetryCounts

    /// Creates a point.
    package init(start: Int64, key: TelemetryKey, counts: TelemetryCounts) {
        self.start = start
        self.key = key
        self.counts = counts
    }
}

/// The telemetry that a reader wants.
package struct TelemetryQuery: Hashable, Sendable {
    /// The earliest interval, in milliseconds since 1970.
    package var from: Int64
    /// The time before which intervals begin.
    package var to: Int64
    /// The length of the intervals.
    package var resolution: TelemetryResolution
    /// The name of the container; nil for all.
    package var container: String?
    /// The environment; nil for all.
    package var environment: String?

    /// Creates a query.
    package init(
        from: Int64, to: Int64, resolution: TelemetryResolution, container: String? = nil, environment: String? = nil
    ) {
        self.from = from
        self.to = to
        self.resolution = resolution
        self.container = container
        self.environment = environment
    }

    /// Returns a Boolean value that indicates whether a key is wanted.
    package func matches(_ key: TelemetryKey) -> Bool {
        (container == nil || key.container == container) && (environment == nil || key.environment == environment)
    }
}

/// The name of a measurement.
package enum MeasurementName: String, Hashable, Sendable, CaseIterable {
    /// Bytes of the store and its log.
    case storeBytes
    /// Bytes of the disk that are free.
    case diskFreeBytes
    /// Accounts.
    case accounts
    /// Entries of the log.
    case logRows
    /// Bytes of the log.
    case logBytes
    /// Stored bytes of a container's public records.
    case publicBytes
    /// Stored bytes of a container's private records.
    case privateBytes

    /// A Boolean value that indicates whether the value is that of one container and environment.
    package var isOfContainer: Bool { self == .publicBytes || self == .privateBytes }
}

/// A container and environment whose measurements are kept.
package struct MeasuredPlace: Hashable, Sendable {
    /// The name of the container.
    package var container: String
    /// The environment.
    package var environment: String

    /// Creates a place.
    package init(container: String, environment: String) {
        self.container = container
        self.environment = environment
    }
}

/// A measured value.
package struct Measurement: Hashable, Sendable {
    /// Milliseconds since 1970.
    package var time: Int64
    /// The name.
    package var name: MeasurementName
    /// The container and environment; nil for the whole cloud.
    package var place: MeasuredPlace?
    /// The value.
    package var value: Int64

    /// Creates a measurement.
    package init(time: Int64, name: MeasurementName, of place: MeasuredPlace? = nil, value: Int64) {
        self.time = time
        self.name = name
        self.place = place
        self.value = value
    }
}
