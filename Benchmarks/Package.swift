// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that a build of Welkin does not include it. `CloudUnderTest`, `SeededChance`, `CSQLite`, the framework
// and its dependencies are links to the modules of the same names; the server under test is the `welkin` of the parent package.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]

let callerIsolated = strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let package = Package(
    name: "welkin-benchmarks",
    platforms: [.macOS(.v15)],
    // `welkin-bench` loads it into the server, on Linux.
    products: [.library(name: "SlowDisk", type: .dynamic, targets: ["CSlowDisk"])],
    dependencies: [
        // The versions of the parent package, so that the baseline uses the server's dependencies.
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-crypto.git", exact: "4.5.2"),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CFileWriteback"),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CSlowDisk"),
        .target(name: "HTTPTransfer", dependencies: ["CCurl"], swiftSettings: strict),
        .target(name: "SeededChance", swiftSettings: strict),
        .systemLibrary(name: "CEventPoll"),
        .target(name: "CloudUnderTest", dependencies: ["CEventPoll"], swiftSettings: strict),
        .executableTarget(
            name: "bare-echo",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "CloudKitEncryption",
            dependencies: [
                "TextEncodings",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ], swiftSettings: strict),
        .target(name: "TextEncodings", swiftSettings: strict),
        .target(name: "AsyncLocks", swiftSettings: callerIsolated),
        .target(name: "JSONBytes", dependencies: ["TextEncodings"], swiftSettings: strict),
        .target(name: "CloudKitModel", dependencies: ["JSONBytes", "TextEncodings"], swiftSettings: strict),
        .target(name: "CloudKitLogs", dependencies: ["CloudKitModel"], swiftSettings: strict),
        .target(
            name: "CloudKitLogsSQLite", dependencies: ["CloudKitLogs", "CSQLite"], swiftSettings: strict),
        // Filters on a log of ten million entries.
        .executableTarget(
            name: "log-filters", dependencies: ["CloudKitLogs", "CloudKitLogsSQLite", "SeededChance"],
            swiftSettings: strict),
        .target(
            name: "CloudKitWire", dependencies: ["CloudKitModel", "JSONBytes", "TextEncodings"], swiftSettings: strict),
        .target(
            name: "CloudKitDevice",
            dependencies: ["CloudKitEncryption", "TextEncodings", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict),
        .target(name: "CoreLocation", swiftSettings: strict),
        .target(name: "FoundationPredicates", swiftSettings: strict),
        .target(
            name: "IdentityDirectory", dependencies: [.product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict),
        .target(
            name: "CloudKitClient",
            dependencies: [
                "CloudKitModel", "CloudKitWire", "CloudKitEncryption", "CloudKitDevice", "HTTPTransfer",
                "IdentityDirectory", "TextEncodings",
                .target(name: "CFileWriteback", condition: .when(platforms: [.linux])),
                .product(name: "Crypto", package: "swift-crypto"),
            ], swiftSettings: strict),
        .target(
            name: "CloudKit",
            dependencies: [
                "AsyncLocks", "CloudKitClient", "CloudKitModel", "CloudKitWire", "CloudKitEncryption", "CloudKitDevice",
                "CoreLocation", "FoundationPredicates", "TextEncodings",
            ], exclude: ["CloudKit.docc"], swiftSettings: strict),
        .executableTarget(
            name: "welkin-bench",
            dependencies: [
                "CloudKit", "CloudKitDevice", "CloudKitEncryption", "CloudUnderTest", "IdentityDirectory",
                "SeededChance", "CSQLite",
                .product(name: "Crypto", package: "swift-crypto"),
            ], swiftSettings: strict),
    ]
)
