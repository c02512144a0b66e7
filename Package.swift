// swift-tools-version: 6.2
import PackageDescription

// The rooms of Welkin and the arrows between them (docs/architecture.md has the picture).
// An arrow is drawn here and nowhere else; the build refuses an import that is not declared.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]

/// For what answers requests: functions stay with the executor that calls them. Otherwise every read of a write would ask
/// anew on which thread to go on: 7 % of a save's processor time.
let staying = strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(
    name: "HummingbirdTLS", package: "hummingbird", condition: .when(traits: ["TLS"]))
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TLS"]))
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "welkin",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "CloudKit", targets: ["CloudKit"]),
        .library(name: "CoreLocation", targets: ["CoreLocation"]),
        .library(name: "CloudKitTesting", targets: ["CloudKitTesting"]),
        .executable(name: "welkin", targets: ["welkin"]),
        .executable(name: "contacts-demo", targets: ["contacts-demo"]),
        .executable(name: "sync-demo", targets: ["sync-demo"]),
    ],
    traits: [
        // TLS brings a second BoringSSL, several minutes of a first build: only those who ask for it pay for it.
        .trait(name: "TLS", description: "Lets `welkin serve` speak HTTPS by itself.")
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
    ],
    targets: [
        // Floor 0: bytes. They know nothing of CloudKit.
        .target(name: "JSONBytes", swiftSettings: strict),
        .target(name: "OrderedStore", swiftSettings: staying),
        .target(name: "FileStore", swiftSettings: strict),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "OrderedStoreSQLite", dependencies: ["OrderedStore", "CSQLite"], swiftSettings: staying),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "HTTPTransfer", dependencies: ["CCurl"], swiftSettings: strict),

        // Floor 1: values and what makes them valid.
        .target(name: "CloudKitModel", dependencies: ["JSONBytes"], swiftSettings: strict),
        .target(name: "CloudKitSchema", dependencies: ["CloudKitModel"], swiftSettings: strict),
        .target(name: "CoreLocation", swiftSettings: strict),

        // Floor 2: records on an ordered store; bodies on the wire; keys and sealing; a device's credentials.
        .target(
            name: "CloudKitRecordLayer", dependencies: ["CloudKitModel", "OrderedStore", "FileStore"],
            swiftSettings: staying),
        .target(name: "CloudKitWire", dependencies: ["CloudKitModel", "JSONBytes"], swiftSettings: strict),
        .target(name: "CloudKitEncryption", dependencies: [crypto, cryptoExtras], swiftSettings: strict),
        .target(name: "CloudKitDevice", dependencies: ["CloudKitEncryption", crypto], swiftSettings: strict),

        // Floor 3: the rules of the cloud; the framework that apps import.
        .target(
            name: "CloudKitServer",
            dependencies: ["CloudKitModel", "CloudKitSchema", "CloudKitRecordLayer", crypto], swiftSettings: staying),
        .target(
            name: "CloudKitClient",
            dependencies: [
                "CloudKitModel", "CloudKitWire", "CloudKitEncryption", "CloudKitDevice", "HTTPTransfer", crypto,
            ], swiftSettings: strict),
        .target(
            name: "CloudKit",
            dependencies: [
                "CloudKitClient", "CloudKitModel", "CloudKitWire", "CloudKitEncryption", "CloudKitDevice",
                "CoreLocation",
            ], swiftSettings: strict),

        // Floor 4: the cloud over HTTP.
        .target(
            name: "CloudKitHTTP",
            dependencies: [
                "CloudKitModel", "CloudKitServer", "CloudKitWire", hummingbird, hummingbirdCore, httpTypes, logging,
                lifecycle, nioCore,
            ], swiftSettings: staying),

        // A push service as the rules see one; the only room that speaks to servers of others on the cloud's behalf.
        .target(
            name: "WebPush", dependencies: ["CloudKitModel", "CloudKitServer", "HTTPTransfer", crypto],
            swiftSettings: strict),

        // Floor 5: what people start.
        .executableTarget(
            name: "welkin",
            dependencies: [
                "CloudKitModel", "CloudKitSchema", "CloudKitServer", "CloudKitHTTP", "CloudKitDevice",
                "OrderedStoreSQLite", "FileStore", "HTTPTransfer", "WebPush", hummingbird, hummingbirdCore,
                hummingbirdTLS,
                nioCore, nioSSL,
                arguments,
                lifecycle,
                logging,
                .target(name: "CMalloc", condition: .when(platforms: [.linux])),
            ], swiftSettings: strict),
        // A throwaway cloud for anyone's tests.
        .target(
            name: "CloudKitTesting",
            dependencies: [
                "CloudKit", "CloudKitClient", "CloudKitDevice", "CloudKitHTTP", "CloudKitModel", "CloudKitServer",
                "OrderedStore", "FileStore", lifecycle, logging,
            ], swiftSettings: strict),
        .executableTarget(name: "contacts-demo", dependencies: ["CloudKit"], swiftSettings: strict),
        .executableTarget(name: "sync-demo", dependencies: ["CloudKit"], swiftSettings: strict),

        // Proof, from pure rules up to a process that is killed.
        .target(name: "SeededChance", path: "Tests/SeededChance", swiftSettings: strict),
        .target(name: "AccessTable", path: "Tests/AccessTable", swiftSettings: strict),
        .target(
            name: "FaultyNetwork", dependencies: ["CloudKitClient", nioCore, nioPosix, nioSSL],
            path: "Tests/FaultyNetwork",
            swiftSettings: strict),
        .testTarget(
            name: "HTTPTransferTests", dependencies: ["HTTPTransfer", "FaultyNetwork"], swiftSettings: strict),
        // A browser without a browser: what receives, decrypts and checks Web Push.
        .target(
            name: "PushReceiver", dependencies: ["FaultyNetwork", crypto], path: "Tests/PushReceiver",
            swiftSettings: strict),
        .testTarget(
            name: "WebPushTests",
            dependencies: [
                "SeededChance", "WebPush", "PushReceiver", "FaultyNetwork", "CloudKitModel", "CloudKitServer",
                "HTTPTransfer", crypto,
            ],
            swiftSettings: strict),
        .testTarget(name: "JSONBytesTests", dependencies: ["JSONBytes", "SeededChance"], swiftSettings: strict),
        .testTarget(
            name: "OrderedStoreTests", dependencies: ["SeededChance", "OrderedStore", "OrderedStoreSQLite", "CSQLite"],
            swiftSettings: staying),
        .testTarget(name: "FileStoreTests", dependencies: ["FileStore", "SeededChance"], swiftSettings: strict),
        .testTarget(
            name: "CloudKitModelTests", dependencies: ["SeededChance", "CloudKitModel", "JSONBytes"],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitWireTests", dependencies: ["SeededChance", "CloudKitModel", "CloudKitWire"],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitSchemaTests", dependencies: ["CloudKitModel", "CloudKitSchema"], swiftSettings: strict),
        .testTarget(
            name: "CloudKitRecordLayerTests",
            dependencies: [
                "SeededChance", "CloudKitModel", "CloudKitRecordLayer", "OrderedStore", "OrderedStoreSQLite", "CSQLite",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitServerTests",
            dependencies: [
                "SeededChance",
                "CloudKitModel", "CloudKitRecordLayer", "CloudKitSchema", "CloudKitServer", "OrderedStore",
                "OrderedStoreSQLite", "FileStore", "CSQLite", crypto,
            ], swiftSettings: strict),
        .testTarget(
            name: "CloudKitEncryptionTests", dependencies: ["CloudKitEncryption", "SeededChance"],
            exclude: ["Vectors/vectors.json"], swiftSettings: strict),
        .testTarget(
            name: "CloudKitDeviceTests", dependencies: ["CloudKitDevice", "CloudKitEncryption"], swiftSettings: strict),
        .testTarget(name: "CoreLocationTests", dependencies: ["CoreLocation"], swiftSettings: strict),
        // A cloud that answers what its test tells it to, for the client engine and the framework over it.
        .target(
            name: "ScriptedCloud",
            dependencies: ["CloudKitClient", "CloudKitDevice", "CloudKitEncryption", "CloudKitModel", "CloudKitWire"],
            path: "Tests/ScriptedCloud", swiftSettings: strict),
        .testTarget(
            name: "CloudKitClientTests",
            dependencies: [
                "ScriptedCloud", "CloudKitClient", "CloudKitDevice", "CloudKitEncryption", "CloudKitModel",
                "CloudKitWire",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitTests",
            dependencies: [
                "SeededChance", "FaultyNetwork", "ScriptedCloud", "CloudKit", "CloudKitClient", "CloudKitDevice",
                "CloudKitEncryption",
                "CloudKitModel",
                "CloudKitWire", "CoreLocation", "JSONBytes",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CloudKitHTTPTests",
            dependencies: [
                "AccessTable", "CloudKitHTTP", "CloudKitModel", "CloudKitRecordLayer", "CloudKitServer", "OrderedStore",
                "FileStore",
                crypto, hummingbird, lifecycle, logging,
            ], swiftSettings: staying),
        // The rules and the keys together, over many seeds: the one place that imports rooms of both sides.
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "AccessTable", "SeededChance", "CloudKit", "CloudKitClient", "CloudKitEncryption", "CloudKitModel",
                "CloudKitServer",
                "FileStore", "OrderedStore", "OrderedStoreSQLite", "CSQLite",
            ], swiftSettings: strict),
        .testTarget(name: "ContactsDemoTests", dependencies: ["contacts-demo"], swiftSettings: strict),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "SeededChance", "FaultyNetwork", "CloudKit", "CloudKitClient", "CloudKitDevice", "CloudKitEncryption",
                "CloudKitModel",
                "CloudKitServer", "CloudKitTesting", "FileStore",
            ], swiftSettings: strict),
        .executableTarget(
            name: "long-lived-app", dependencies: ["CloudKit"], path: "Tests/LongLivedApp", swiftSettings: strict),
        .testTarget(
            name: "CloudKitTestingTests",
            dependencies: ["CloudKitTesting", "CloudKit", "CloudUnderTest", "long-lived-app"], swiftSettings: strict),
        .target(name: "Notes", dependencies: ["CloudKit"], path: "Examples/Notes/Sources", swiftSettings: strict),
        .testTarget(
            name: "NotesTests", dependencies: ["Notes", "CloudKit", "CloudKitTesting"], path: "Examples/Notes/Tests",
            swiftSettings: strict),
        // A cloud in a process of its own, spoken to in plain HTTP.
        .target(name: "CloudUnderTest", path: "Tests/CloudUnderTest", swiftSettings: strict),
        .testTarget(
            name: "BlindnessTests",
            dependencies: [
                "CloudUnderTest", "CloudKit", "CloudKitClient", "CloudKitDevice", "CloudKitEncryption", "welkin",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "WelkinTests",
            dependencies: ["CloudUnderTest", "FaultyNetwork", "PushReceiver", "CloudKit", "CloudKitDevice", "welkin"],
            swiftSettings: strict),
        .testTarget(
            name: "DurabilityTests", dependencies: ["SeededChance", "CloudUnderTest", "welkin"], swiftSettings: strict),
    ]
)
